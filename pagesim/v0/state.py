"""The present state of pools, tables and queues, as the `State` of a timeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pagesim.journal.effects import Name, check_pool_size, request_name
from pagesim.journal.state import Queues, State, TableState


def read_pools(
    pools: Sequence[Any], tables: Mapping[Name, Any] | None = None, null_block: int | None = None
) -> State:
    """The state of allocators, one per device, and of the tables on them.

    UsageError for more blocks than a timeline may have: a state lists them all.
    """
    check_pool_size(sum(pool.get_num_total_blocks() for pool in pools))
    end = 1 + max(max(pool.block_ids, default=-1) for pool in pools)
    sizes = [pool.get_num_total_blocks() for pool in pools[1:]]
    caches = [pool for pool in pools if hasattr(pool, "evictor")]
    lists: dict[str, tuple[int, ...]] = {}
    for pool in pools:
        lists[f"{pool.pool} free list"] = pool.free_block_ids
        if pool in caches:
            lists[f"{pool.pool} evictor"] = tuple(pool.evictor.free_table)
    owners = {block: n for pool in pools for block, n in pool.ref_counts.items()}
    return State(
        block_size=pools[0].block_size,
        pools=dict(zip([pool.pool for pool in pools], [end - sum(sizes), *sizes], strict=True)),
        caching=bool(caches),
        tables={name: read_table(table, null_block) for name, table in (tables or {}).items()},
        ref_counts=dict.fromkeys(range(end), 0) | owners,
        lists=lists,
        cached=frozenset().union(*(pool.cached_block_ids for pool in caches)),
        computed=frozenset().union(*(pool.computed_block_ids for pool in caches)),
        null_block=null_block,
        live=dict(tables or {}),
    )


def read_table(table: Any, null_block: int | None) -> TableState:
    """The state of one block table."""
    return TableState.of(
        tuple(table.physical_block_ids), tuple(table.token_ids), table.block_size, null_block
    )


def with_queues(state: State, queues: Mapping[str, Iterable[Any]]) -> State:
    """A state with the requests in a scheduler's queues, and the first sequence of each."""
    names = {
        queue: [(request_name(group.request_id), group.first_seq.seq_id) for group in groups]
        for queue, groups in queues.items()
    }
    requests = {request: seq for pairs in names.values() for request, seq in pairs}
    order = {queue: tuple(request for request, _ in pairs) for queue, pairs in names.items()}
    return replace(state, queues=Queues(order), requests=requests)
