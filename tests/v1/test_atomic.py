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


# -- answers of None: any others are a rule of the state machine --------------------------------


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
FAILING: list[tuple[type, str, Callable[[KVCacheManager, Request, Request], object]]] = [
    (ValueError, "at least one token", lambda m, its, new: m.allocate_slots(its, 0)),
    (UsageError, "not -1", lambda m, its, new: m.allocate_slots(its, -1)),
    (TypeError, "must be an int", lambda m, its, new: m.allocate_slots(its, 0.5)),
    (
        UsageError,
        "num_lookahead_tokens must be at least 0",
        lambda m, its, new: m.allocate_slots(its, 1, num_lookahead_tokens=-1),
    ),
    (
        TypeError,
        "reserved_blocks must be an int",
        lambda m, its, new: m.allocate_slots(its, 1, reserved_blocks="2"),
    ),
    (
        UsageError,
        "'its' has a table",
        lambda m, its, new: m.allocate_slots(its, 1, 8, m.get_computed_blocks(new)[0]),
    ),
    (
        UsageError,
        "7 computed tokens do not fill the 2 blocks",
        lambda m, its, new: m.allocate_slots(new, 1, 7, m.get_computed_blocks(new)[0]),
    ),
    (
        UsageError,
        "4 computed tokens do not fill the 0 blocks",
        lambda m, its, new: m.allocate_slots(new, 1, 4),
    ),
    (
        UsageError,
        "request 'x' has hashes of blocks of 8 tokens, and the cache has blocks of 4",
        lambda m, its, new: m.allocate_slots(Request("x", [1], block_size=8), 1),
    ),
    (UsageError, "'new'", lambda m, its, new: m.cache_blocks(new, 8)),
    (UsageError, "block 12 does not belong", lambda m, its, new: m.evict_blocks([1, 12])),
    (UsageError, "block -1 does not", lambda m, its, new: m.evict_blocks([1, -1])),
    (TypeError, "must be an", lambda m, its, new: m.evict_blocks([1, "2"])),
    (
        ValueError,
        "9 blocks cannot be taken: 8 are free",
        lambda m, its, new: m.block_pool.get_new_blocks(9),
    ),
    (ValueError, "-1 blocks cannot be taken", lambda m, its, new: m.block_pool.get_new_blocks(-1)),
    (
        UsageError,
        "block 2 is already free",
        lambda m, its, new: m.block_pool.free_blocks([m.block_pool.blocks[i] for i in (2, 1, 2)]),
    ),
    (
        UsageError,
        "block 4 is already free",
        lambda m, its, new: m.block_pool.free_blocks([m.block_pool.blocks[i] for i in (1, 4)]),
    ),
    (
        UsageError,
        "block 3, entry 1 of the table of request 'new', is already cached",
        lambda m, its, new: m.block_pool.cache_full_blocks(
            new, m.block_pool.blocks[4:0:-1], 0, 2, 4
        ),
    ),
    (
        UsageError,
        "block 6, entry 2 of the table of request 'new', is not full",
        lambda m, its, new: m.block_pool.cache_full_blocks(new, m.block_pool.blocks[4:9], 0, 3, 4),
    ),
    (
        UsageError,
        "block 3 belongs to another pool",
        lambda m, its, new: m.block_pool.touch([m.block_pool.blocks[4], FOREIGN.blocks[3]]),
    ),
    (
        UsageError,
        "block 1 belongs to another pool",
        lambda m, its, new: m.block_pool.free_blocks([m.block_pool.blocks[1], FOREIGN.blocks[1]]),
    ),
    (
        UsageError,
        "block 15 belongs to another pool",
        lambda m, its, new: m.block_pool.touch([FOREIGN.blocks[15]]),
    ),
    (
        UsageError,
        "belongs to another pool",
        lambda m, its, new: m.block_pool.touch([KVCacheBlock(-(2**70))]),
    ),
    (
        UsageError,
        "block 1 belongs to another pool",
        lambda m, its, new: m.allocate_slots(new, 1, 4, KVCacheBlocks((FOREIGN.blocks[1:2],))),
    ),
    (
        UsageError,
        "from -1 up to 1",
        lambda m, its, new: m.block_pool.cache_full_blocks(new, m.block_pool.blocks[4:6], -1, 1, 4),
    ),
    (
        UsageError,
        "block_mask",
        lambda m, its, new: m.block_pool.cache_full_blocks(
            new, m.block_pool.blocks[4:6], 0, 2, 4, 0, [True]
        ),
    ),
    (
        UsageError,
        "block 4, entry 1 .* is already cached",
        lambda m, its, new: m.block_pool.cache_full_blocks(
            new, [m.block_pool.blocks[4]] * 2, 0, 2, 4
        ),
    ),
    (
        UsageError,
        "hashes of blocks of 2 tokens",
        lambda m, its, new: m.block_pool.cache_full_blocks(
            Request("x", range(4), block_size=2), m.block_pool.blocks[4:5], 0, 1, 4
        ),
    ),
    (
        UnsupportedError,
        "block_size must be 4",
        lambda m, its, new: m.block_pool.cache_full_blocks(new, m.block_pool.blocks[4:5], 0, 1, 8),
    ),
    (
        UnsupportedError,
        "hybrid models",
        lambda m, its, new: m.block_pool.cache_full_blocks(
            new, m.block_pool.blocks[4:5], 0, 1, 4, 1
        ),
    ),
    (
        UnsupportedError,
        "hybrid models",
        lambda m, its, new: m.block_pool.get_cached_block(new.block_hashes[0], [0, 1]),
    ),
    (
        TypeError,
        r"token_ids\[1\] must be an int",
        lambda m, its, new: its.append_output_token_ids([1, "2"]),
    ),
    (TypeError, "must be a list of ints", lambda m, its, new: its.append_output_token_ids(True)),
]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(("error", "message", "call"), FAILING)
def test_a_call_that_raises_changes_nothing(
    error: type, message: str, call: Callable[..., object], recorded: bool
) -> None:
    manager, its, new = scene()
    before, fields = everything(manager), (request_state(its), request_state(new))
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
