"""A call that fails changes nothing; `allocate_slots` that answers None only opens the window."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest

import pagesim
from pagesim.errors import UsageError
from pagesim.v1 import (
    BlockPool,
    FreeKVCacheBlockQueue,
    KVCacheBlock,
    KVCacheBlocks,
    KVCacheManager,
    Request,
    RequestStatus,
)
from tests.v1.world import check, everything, request_state

SIZE = 4


def request(name: str, num_tokens: int, first: int = 0, **options: Any) -> Request:
    return Request(name, range(first, first + num_tokens), block_size=SIZE, **options)


def admit(manager: KVCacheManager, new: Request) -> Request:
    """Look a request up, give it room for all its tokens, and take them as computed."""
    hits, found, _ = manager.get_computed_blocks(new)
    assert manager.allocate_slots(new, new.num_tokens - found, found, hits) is not None
    new.num_computed_tokens, new.status = new.num_tokens, RequestStatus.RUNNING
    return new


# -- answers of None: any others are a rule of the state machine --------------------------------


@pytest.mark.parametrize("caching", [True, False])
def test_w20_none_opens_the_window_and_changes_nothing_else(caching: bool) -> None:
    manager = KVCacheManager(6, SIZE, 64, caching, sliding_window=5, retention_interval=None)
    its = admit(manager, request("its", 12))
    before, fields = everything(manager), {**request_state(its)}
    assert manager.allocate_slots(its, 24) is None
    after = everything(manager)
    entry = ("its", 0)
    assert before["tables"] == {entry: [1, 2, 3]} and after["tables"] == {entry: [0, 0, 3]}
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


FOREIGN = BlockPool(16, True, SIZE).blocks
Case = tuple[type, str, Callable[..., object], list[Any]]


def failing(m: KVCacheManager, its: Request, new: Request) -> list[Case]:
    """The error, a part of its message, and the call."""
    pool, own = m.block_pool, m.block_pool.blocks
    hits, small = m.get_computed_blocks(new)[0], Request("x", range(4), block_size=2)
    cache, grow = pool.cache_full_blocks, its.append_output_token_ids
    return [
        (ValueError, "at least one token", m.allocate_slots, [its, 0]),
        (UsageError, "not -1", m.allocate_slots, [its, -1]),
        (TypeError, "must be an int", m.allocate_slots, [its, 0.5]),
        (UsageError, "num_lookahead_tokens", m.allocate_slots, [its, 1, 0, None, -1]),
        (TypeError, "reserved_blocks", partial(m.allocate_slots, reserved_blocks="2"), [its, 1]),
        (UsageError, "external", m.allocate_slots, [its, 1, 0, None, 0, -1]),
        (UsageError, "'its' has a table", m.allocate_slots, [its, 1, 8, hits]),
        (UsageError, "7 computed .* the 2 blocks", m.allocate_slots, [new, 1, 7, hits]),
        (UsageError, "4 computed .* the 0 blocks", m.allocate_slots, [new, 1, 4]),
        (UsageError, "'x' has hashes of blocks of 2", m.allocate_slots, [small, 1]),
        (UsageError, "'new'", m.cache_blocks, [new, 8]),
        (UsageError, "block 12 does not", m.evict_blocks, [[1, 12]]),
        (UsageError, "block -1 does not", m.evict_blocks, [[1, -1]]),
        (TypeError, "must be an", m.evict_blocks, [[1, "2"]]),
        (ValueError, "9 blocks .* 8 are free", pool.get_new_blocks, [9]),
        (ValueError, "-1 blocks cannot be taken", pool.get_new_blocks, [-1]),
        (UsageError, "block 2 is already free", pool.free_blocks, [[own[2], own[1], own[2]]]),
        (UsageError, "block 4 is already free", pool.free_blocks, [[own[1], own[4]]]),
        (UsageError, "block 3, entry 1 .* cached", cache, [new, own[4:0:-1], 0, 2, 4]),
        (UsageError, "block 6, entry 2 .* not full", cache, [new, own[4:9], 0, 3, 4]),
        (UsageError, "block 3 belongs to another", pool.touch, [[own[4], FOREIGN[3]]]),
        (UsageError, "block 1 belongs to another", pool.free_blocks, [[own[1], FOREIGN[1]]]),
        (UsageError, "block 15 belongs to another", pool.touch, [[FOREIGN[15]]]),
        (UsageError, "belongs to another", pool.touch, [[KVCacheBlock(-(2**70))]]),
        (UsageError, "another", m.allocate_slots, [new, 1, 4, KVCacheBlocks((FOREIGN[1:2],))]),
        (UsageError, "from -1 up to 1", cache, [new, own[4:6], -1, 1, 4]),
        (UsageError, "'new' has 1", cache, [new, own[4:5], 0, 2, 4]),
        (UsageError, "block_mask", cache, [new, own[4:6], 0, 2, 4, 0, [True]]),
        (UsageError, "block 4, entry 1 .* cached", cache, [new, [own[4]] * 2, 0, 2, 4]),
        (UsageError, "hashes of blocks of 2", cache, [small, own[4:5], 0, 1, 4]),
        (UsageError, "multiple of hash_block_size .4., not 6", cache, [new, own[4:5], 0, 1, 6]),
        (UsageError, "kv_cache_group_id must be at least 0", cache, [new, own[4:5], 0, 1, 4, -1]),
        (TypeError, r"token_ids\[1\] must be an int", grow, [[1, "2"]]),
        (TypeError, "must be a list of ints", grow, [True]),
    ]


NAMES = [text for _, text, *_ in failing(*scene())]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("case", range(len(NAMES)), ids=NAMES)
def test_a_call_that_raises_changes_nothing(case: int, recorded: bool) -> None:
    manager, its, new = scene()
    error, message, call, arguments = failing(manager, its, new)[case]
    before, fields = everything(manager), (request_state(its), request_state(new))
    with pagesim.record(manager) if recorded else nullcontext() as run:
        with pytest.raises(error, match=message):
            call(*arguments)
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
        (lambda q, b: q.prepend_n([b[0], b[0]]), UsageError, "can be freed only once"),
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
