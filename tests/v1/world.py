"""What must hold after every operation, and a memory that shows whether ids are to be trusted.

The memory plays the GPU: it holds a token where a kernel would hold its keys and values, and
is written through block ids alone. A block that is handed out twice, freed too early or found by
mistake shows as a wrong token.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from pagesim.v1 import BlockPool, KVCacheManager, Request, Scheduler


def pool_state(pool: BlockPool) -> dict[str, Any]:
    """All there is to know of a pool."""
    found, more = pool.cached_block_hash_to_block._blocks, pool.cached_block_hashes_by_block
    return {
        "free": [block.block_id for block in pool.free_block_queue.get_all_free_blocks()],
        "num_free": pool.get_num_free_blocks(),
        "refs": [block.ref_cnt for block in pool.blocks],
        "hashes": [block.key for block in pool.blocks],
        "covered": [block.block_hash_num_tokens for block in pool.blocks],
        "more": {block_id: sorted(keys) for block_id, keys in more.items()},
        "found": {key: list(blocks) for key, blocks in found.items()},
        "told": list(pool.kv_event_queue),
    }


def request_state(request: Request) -> dict[str, Any]:
    """All there is to know of a request."""
    return {
        name: list(value) if isinstance(value := getattr(request, name), list) else value
        for name in Request.__slots__
        if name != "__weakref__"  # whoever watches may refer to it
    }


def everything(subject: KVCacheManager | Scheduler) -> dict[str, Any]:
    """All there is to know of a manager, or of a scheduler and its requests."""
    if isinstance(subject, Scheduler):
        return everything(subject.kv_cache_manager) | {
            "waiting": [request.request_id for request in subject.waiting],
            "running": [request.request_id for request in subject.running],
            "requests": {name: request_state(each) for name, each in subject.requests.items()},
            "finished": set(subject.finished_req_ids),
            "preempted": set(subject.preempted_req_ids),
            "in flight": list(subject._in_flight),
        }
    groups = subject.coordinator.single_type_managers
    tables = {
        (name, group.kv_cache_group_id): [block.block_id for block in table]
        for group in groups
        for name, table in group.req_to_blocks.items()
    }
    return pool_state(subject.block_pool) | {
        "tables": tables,
        "cached": [dict(group.num_cached_block) for group in groups],
        "stats": repr(subject.prefix_cache_stats),
    }


def refused(
    subject: KVCacheManager | Scheduler,
    error: type,
    message: str,
    call: Callable[..., Any],
    *of: Any,
) -> None:
    """``call(*of)`` raises this, and leaves the subject as it was."""
    before = everything(subject)
    with pytest.raises(error, match=message):
        call(*of)
    assert everything(subject) == before


def check(manager: KVCacheManager) -> None:
    """An id is in exactly one place; the counts equal the owners; what is cached is found."""
    pool, now = manager.block_pool, everything(manager)
    owners = Counter(block_id for table in now["tables"].values() for block_id in table)
    del owners[0]
    assert pool.null_block.block_id == 0 and pool.null_block.is_null
    assert now["refs"] == [owners[block_id] for block_id in range(pool.num_gpu_blocks)]
    assert sorted([0, *now["free"], *owners]) == list(range(pool.num_gpu_blocks))
    assert now["num_free"] == len(now["free"])
    cached_free = [i for i in now["free"] if now["hashes"][i] is not None]
    assert pool.num_cached_free_blocks == len(cached_free)
    before = pool.free_block_queue.fake_free_list_head
    for block_id in [*now["free"], -1]:
        assert before.next_free_block.block_id == block_id
        assert before.next_free_block.prev_free_block is before
        before = before.next_free_block
    hashes = [(key, i) for key, ids in now["found"].items() for i in ids]
    keys = [(key, i) for i, key in enumerate(now["hashes"]) if key]
    keys += [(key, i) for i, more in now["more"].items() for key in more]
    assert sorted(hashes) == sorted(keys)
    assert now["hashes"][0] is None
    if not manager.enable_caching:
        assert not hashes


class Memory:
    """A list of slots for each block id."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.slots: list[list[int | None]] = [[None] * block_size for _ in range(num_blocks)]

    def compute(self, table: list[int], tokens: list[int], start: int, end: int) -> None:
        """Positions ``start`` to ``end`` are computed."""
        for at in range(start, min(end, len(tokens))):
            block_id = table[at // self.block_size]
            assert block_id, f"position {at} is computed into the null block"
            self.slots[block_id][at % self.block_size] = tokens[at]

    def check(self, table: list[int], tokens: list[int], start: int, end: int) -> None:
        """A kernel that reads positions ``start`` to ``end`` reads the right tokens."""
        for at in range(start, end):
            block_id = table[at // self.block_size]
            assert block_id, f"position {at} is read from the null block"
            assert self.slots[block_id][at % self.block_size] == tokens[at], (at, table)
