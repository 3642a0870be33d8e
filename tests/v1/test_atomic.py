"""A call that fails changes nothing; `allocate_slots` that answers None only opens the window."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import pagesim
from pagesim.errors import UnsupportedError, UsageError
from pagesim.v1 import (
    BlockPool,
    FreeKVCacheBlockQueue,
    KVCacheBlock,
    KVCacheBlocks,
    KVCacheManager,
    Request,
    RequestStatus,
)
from tests.v1.world import check, everything, pool_state, request_state

pytestmark = pytest.mark.ch07

SIZE = 4


def request(name: str, num_tokens: int, first: int = 0, **options: Any) -> Request:
    return Request(name, range(first, first + num_tokens), block_size=SIZE, **options)


def admit(manager: KVCacheManager, new: Request) -> Request:
    """Look a request up, give it room for all its tokens, and take them as computed."""
    hits, found, _ = manager.get_computed_blocks(new)
    assert manager.allocate_slots(new, new.num_tokens - found, found, hits) is not None
    new.num_computed_tokens, new.status = new.num_tokens, RequestStatus.RUNNING
    return new


def leave_free(manager: KVCacheManager, num_free: int) -> None:
    """Take blocks from the front until this many are free."""
    manager.block_pool.get_new_blocks(manager.block_pool.get_num_free_blocks() - num_free)


# -- answers of None ---------------------------------------------------------------------------

Call = Callable[[], object]


def new_prompt(manager: KVCacheManager) -> Call:
    new = request("new", 13)
    return lambda: manager.allocate_slots(new, 13)


def prompt_that_must_fit_whole(manager: KVCacheManager) -> Call:
    new = request("new", 13)
    return lambda: manager.allocate_slots(new, 2, full_sequence_must_fit=True)


def hits_in_the_queue(manager: KVCacheManager) -> Call:
    old = admit(manager, request("old", 8))
    manager.free(old)
    new = request("new", 13)

    def call() -> object:
        """Whether 0, 1 or 2 blocks are found still: each costs as much as a new one."""
        hits, found, _ = manager.get_computed_blocks(new)
        return manager.allocate_slots(new, 13 - found, found, hits)

    return call


def hits_in_use(manager: KVCacheManager) -> Call:
    admit(manager, request("old", 8))
    new = request("new", 21)
    return lambda: manager.allocate_slots(new, 13, 8, manager.get_computed_blocks(new)[0])


def next_tokens(manager: KVCacheManager) -> Call:
    its = admit(manager, request("its", 7))
    its.append_output_token_ids(range(50, 64))
    return lambda: manager.allocate_slots(its, 14)


def lookahead(manager: KVCacheManager) -> Call:
    its = admit(manager, request("its", 7))
    its.append_output_token_ids(50)
    return lambda: manager.allocate_slots(its, 1, num_lookahead_tokens=13)


def reserved(manager: KVCacheManager) -> Call:
    new = request("new", 5)
    return lambda: manager.allocate_slots(new, 5, reserved_blocks=2)


NEED = {
    new_prompt: 4,
    prompt_that_must_fit_whole: 4,
    hits_in_the_queue: 4,
    hits_in_use: 4,
    next_tokens: 4,
    lookahead: 4,
    reserved: 4,
}
"""Free blocks that each call takes, or asks for."""


NEED_CACHING = (hits_in_use,)
CASES = [
    pytest.param(scene, caching, id=f"{scene.__name__}-{'cached' if caching else 'plain'}")
    for scene in NEED
    for caching in (True, False)
    if caching or scene not in NEED_CACHING
]


@pytest.mark.parametrize(("scene", "caching"), CASES)
def test_none_changes_nothing_whatever_is_free(
    scene: Callable[[KVCacheManager], Call], caching: bool
) -> None:
    need = NEED[scene]
    for num_free in range(need + 1):
        manager = KVCacheManager(20, SIZE, 64, caching)
        call = scene(manager)
        leave_free(manager, num_free)
        before = everything(manager)
        if num_free == need:
            assert call() is not None
        else:
            assert call() is None
            assert everything(manager) == before, num_free


def test_none_below_the_watermark_changes_nothing() -> None:
    manager = KVCacheManager(10, SIZE, 64, watermark=0.2)
    leave_free(manager, 3)
    before, new = everything(manager), request("new", 8)
    assert manager.allocate_slots(new, 8) is None
    assert everything(manager) == before
    assert manager.allocate_slots(new, 8, has_scheduled_reqs=False) is not None


@pytest.mark.parametrize("caching", [True, False])
def test_none_opens_the_window_and_changes_nothing_else(caching: bool) -> None:
    manager = KVCacheManager(6, SIZE, 64, caching, sliding_window=5, retention_interval=None)
    its = admit(manager, request("its", 12))
    before, fields = everything(manager), {**request_state(its)}
    assert manager.allocate_slots(its, 24) is None
    after = everything(manager)
    assert before["tables"] == {"its": [1, 2, 3]} and after["tables"] == {"its": [0, 0, 3]}
    back = [4, 5, 2, 1] if caching else [2, 1, 4, 5]
    assert after["free"] == back
    assert [after["refs"][i] for i in (1, 2, 3)] == [0, 0, 1]
    same = ("hashes", "found", "cached", "stats")
    assert [after[key] for key in same] == [before[key] for key in same]
    assert request_state(its) == fields
    check(manager)


# -- calls that raise --------------------------------------------------------------------------


def scene() -> tuple[KVCacheManager, Request, Request]:
    """A manager with a running request of 3 blocks, and a new one that finds 2 of them."""
    manager = KVCacheManager(12, SIZE, 64)
    return manager, admit(manager, request("its", 12)), request("new", 9)


FOREIGN = BlockPool(16, True, SIZE)
FAILING: dict[str, tuple[Callable[[KVCacheManager, Request, Request], object], type, str]] = {
    "no tokens": (lambda m, its, new: m.allocate_slots(its, 0), ValueError, "at least one token"),
    "fewer than none": (lambda m, its, new: m.allocate_slots(its, -1), UsageError, "not -1"),
    "half a token": (lambda m, its, new: m.allocate_slots(its, 0.5), TypeError, "must be an int"),
    "lookahead": (
        lambda m, its, new: m.allocate_slots(its, 1, num_lookahead_tokens=-1),
        UsageError,
        "num_lookahead_tokens must be at least 0",
    ),
    "reserved": (
        lambda m, its, new: m.allocate_slots(its, 1, reserved_blocks="2"),
        TypeError,
        "reserved_blocks must be an int",
    ),
    "hits and a table": (
        lambda m, its, new: m.allocate_slots(its, 1, 8, m.get_computed_blocks(new)[0]),
        UsageError,
        "'its' has a table",
    ),
    "hits of another length": (
        lambda m, its, new: m.allocate_slots(new, 1, 7, m.get_computed_blocks(new)[0]),
        UsageError,
        "7 computed tokens do not fill the 2 blocks",
    ),
    "computed without hits": (
        lambda m, its, new: m.allocate_slots(new, 1, 4),
        UsageError,
        "4 computed tokens do not fill the 0 blocks",
    ),
    "other blocks": (
        lambda m, its, new: m.allocate_slots(Request("x", [1], block_size=8), 1),
        UsageError,
        "request 'x' has hashes of blocks of 8 tokens, and the cache has blocks of 4",
    ),
    "caching without a table": (
        lambda m, its, new: m.cache_blocks(new, 8),
        UsageError,
        "'new'",
    ),
    "an id that is too large": (
        lambda m, its, new: m.evict_blocks([1, 12]),
        UsageError,
        "block 12 does not belong",
    ),
    "a negative id": (lambda m, its, new: m.evict_blocks([1, -1]), UsageError, "block -1 does not"),
    "an id that is none": (lambda m, its, new: m.evict_blocks([1, "2"]), TypeError, "must be an"),
    "more than are free": (
        lambda m, its, new: m.block_pool.get_new_blocks(9),
        ValueError,
        "9 blocks cannot be taken: 8 are free",
    ),
    "fewer than no blocks": (
        lambda m, its, new: m.block_pool.get_new_blocks(-1),
        ValueError,
        "-1 blocks cannot be taken",
    ),
    "free twice in one call": (
        lambda m, its, new: m.block_pool.free_blocks([m.block_pool.blocks[i] for i in (2, 1, 2)]),
        UsageError,
        "block 2 is already free",
    ),
    "free what is free": (
        lambda m, its, new: m.block_pool.free_blocks([m.block_pool.blocks[i] for i in (1, 4)]),
        UsageError,
        "block 4 is already free",
    ),
    "cached twice": (
        lambda m, its, new: m.block_pool.cache_full_blocks(
            new, m.block_pool.blocks[4:0:-1], 0, 2, 4
        ),
        UsageError,
        "block 3, entry 1 of the table of request 'new', is already cached",
    ),
    "cached before it is full": (
        lambda m, its, new: m.block_pool.cache_full_blocks(new, m.block_pool.blocks[4:9], 0, 3, 4),
        UsageError,
        "block 6, entry 2 of the table of request 'new', is not full",
    ),
    "a foreign block touched": (
        lambda m, its, new: m.block_pool.touch([m.block_pool.blocks[4], FOREIGN.blocks[3]]),
        UsageError,
        "block 3 belongs to another pool",
    ),
    "a foreign block freed": (
        lambda m, its, new: m.block_pool.free_blocks([m.block_pool.blocks[1], FOREIGN.blocks[1]]),
        UsageError,
        "block 1 belongs to another pool",
    ),
    "a foreign block of a larger pool": (
        lambda m, its, new: m.block_pool.touch([FOREIGN.blocks[15]]),
        UsageError,
        "block 15 belongs to another pool",
    ),
    "a block of no pool": (
        lambda m, its, new: m.block_pool.touch([KVCacheBlock(-(2**70))]),
        UsageError,
        "belongs to another pool",
    ),
    "foreign hits": (
        lambda m, its, new: m.allocate_slots(new, 1, 4, KVCacheBlocks((FOREIGN.blocks[1:2],))),
        UsageError,
        "block 1 belongs to another pool",
    ),
    "cached from before its start": (
        lambda m, its, new: m.block_pool.cache_full_blocks(new, m.block_pool.blocks[4:6], -1, 1, 4),
        UsageError,
        "from -1 up to 1",
    ),
    "a mask that is too short": (
        lambda m, its, new: m.block_pool.cache_full_blocks(
            new, m.block_pool.blocks[4:6], 0, 2, 4, 0, [True]
        ),
        UsageError,
        "block_mask",
    ),
    "one block cached as two": (
        lambda m, its, new: m.block_pool.cache_full_blocks(
            new, [m.block_pool.blocks[4]] * 2, 0, 2, 4
        ),
        UsageError,
        "block 4, entry 1 .* is already cached",
    ),
    "blocks of another size cached": (
        lambda m, its, new: m.block_pool.cache_full_blocks(
            Request("x", range(4), block_size=2), m.block_pool.blocks[4:5], 0, 1, 4
        ),
        UsageError,
        "hashes of blocks of 2 tokens",
    ),
    "blocks of two of its own": (
        lambda m, its, new: m.block_pool.cache_full_blocks(new, m.block_pool.blocks[4:5], 0, 1, 8),
        UnsupportedError,
        "block_size must be 4",
    ),
    "another group": (
        lambda m, its, new: m.block_pool.cache_full_blocks(
            new, m.block_pool.blocks[4:5], 0, 1, 4, 1
        ),
        UnsupportedError,
        "hybrid models",
    ),
    "two groups": (
        lambda m, its, new: m.block_pool.get_cached_block(new.block_hashes[0], [0, 1]),
        UnsupportedError,
        "hybrid models",
    ),
    "tokens that are none": (
        lambda m, its, new: its.append_output_token_ids([1, "2"]),
        TypeError,
        r"token_ids\[1\] must be an int",
    ),
    "a token that is true": (
        lambda m, its, new: its.append_output_token_ids(True),
        TypeError,
        "must be a list of ints",
    ),
}


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", FAILING)
def test_a_call_that_raises_changes_nothing(name: str, recorded: bool) -> None:
    manager, its, new = scene()
    before, fields = everything(manager), (request_state(its), request_state(new))
    call, error, message = FAILING[name]
    with pagesim.record(manager) if recorded else nullcontext() as run:
        with pytest.raises(error, match=message):
            call(manager, its, new)
        assert everything(manager) == before
        assert (request_state(its), request_state(new)) == fields
        assert run is None or run.at(-1) == manager.state()
        manager.free(its)
        assert run is None or run.at(-1) == manager.state()
    assert run is None or {event.kind for event in run} <= {"failed", "free"}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda q, b: q.popleft_n(4), AssertionError, "4 blocks cannot be taken: 3 are free"),
        (lambda q, b: q.popleft_n(-1), AssertionError, "-1 blocks"),
        (lambda q, b: q.remove(b[0]), RuntimeError, "block 0 is not in the free queue"),
        (lambda q, b: q.append(b[1]), UsageError, "block 1 is in the free queue already"),
        (lambda q, b: q.append_n([b[0], b[1]]), UsageError, "block 1 is in"),
        (lambda q, b: q.prepend_n([b[0], b[3]]), UsageError, "block 3 is in"),
        (lambda q, b: q.prepend_n([b[0], b[0]]), UsageError, "can be freed once"),
    ],
)
def test_a_queue_refuses_and_stays(call: Any, error: type, message: str) -> None:
    blocks = [KVCacheBlock(i) for i in range(4)]
    queue = FreeKVCacheBlockQueue(blocks)
    assert queue.popleft() is blocks[0]
    with pytest.raises(error, match=message):
        call(queue, blocks)
    assert queue.get_all_free_blocks() == blocks[1:] and queue.num_free_blocks == 3
    assert blocks[0].prev_free_block is blocks[0].next_free_block is None


def test_an_empty_queue() -> None:
    queue = FreeKVCacheBlockQueue([])
    with pytest.raises(ValueError, match="no block is free"):
        queue.popleft()
    assert queue.popleft_n(0) == queue.get_all_free_blocks() == []


def test_a_foreign_request_leaves_a_pool_as_it_is() -> None:
    pool = BlockPool(4, True, SIZE)
    before = pool_state(pool)
    with pytest.raises(UsageError, match="the table of request 'new' has 1"):
        pool.cache_full_blocks(request("new", 8), pool.blocks[1:2], 0, 2, SIZE)
    assert pool_state(pool) == before
