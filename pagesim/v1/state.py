"""The present state of pool, tables and queues, as a `State` of a timeline, and how they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pagesim.journal import Journal
from pagesim.journal.effects import APPEND, KNOWN, NULL, PATCH, WRITE, Name, check_pool_size
from pagesim.journal.state import Queues, State, TableState
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.request import Request

NULL_BLOCK = 0
Table = Sequence[KVCacheBlock]


def read_pool(pool: Any, free_list: str, tables: Mapping[Name, TableState] | None = None) -> State:
    """The state of a pool, and of the tables on it.

    UsageError for more blocks than a timeline may have: a state names them all.
    """
    check_pool_size(pool.num_gpu_blocks)
    free = pool.free_block_queue.get_all_free_blocks()
    return State(
        block_size=pool.hash_block_size,
        pools={"GPU": pool.num_gpu_blocks},
        caching=pool.enable_caching,
        tables=tables or {},
        ref_counts={block.block_id: block.ref_cnt for block in pool.blocks},
        lists={free_list: tuple(block.block_id for block in free)},
        cached=frozenset(block.block_id for block in pool.blocks if block.key is not None),
        null_block=pool.null_block.block_id,
    )


def with_queues(state: State, queues: Mapping[str, Iterable[Request]]) -> State:
    """A state with the requests in a scheduler's queues; a request is its own first sequence."""
    order = {name: tuple(each.request_id for each in queue) for name, queue in queues.items()}
    requests: dict[Name, Name] = {request: request for queue in order.values() for request in queue}
    return replace(state, queues=Queues(order), requests=requests)


def note_written(
    journal: Journal,
    request: Request,
    table: Table,
    block_size: int,
    start: int,
    end: int,
    num_new_blocks: int,
) -> None:
    """Positions ``start`` to ``end`` are written; the table's last blocks are new.

    Tokens that are sampled later are told later.
    """
    journal.note((KNOWN, request, request.all_token_ids, end))
    journal.note((APPEND, request, start, []))
    while start < end:
        stop = min(end, (start // block_size + 1) * block_size)
        journal.note((WRITE, table[start // block_size].block_id, stop - start))
        start = stop
    if num_new_blocks:
        _note_entries(journal, request, table, len(table) - num_new_blocks)


def note_hits(
    journal: Journal, request: Request, hits: Table, block_size: int, num_skipped: int
) -> None:
    """A table begins with these blocks, behind as many null blocks as it does without."""
    known = enumerate(hits)
    first = next((i for i, block in known if i >= num_skipped and not block.is_null), len(hits))
    for index in range(first):
        journal.note((NULL, NULL_BLOCK, request, index))
    journal.note((KNOWN, request, request.all_token_ids, len(hits) * block_size))
    journal.note((APPEND, request, first * block_size, []))


def note_skipped(journal: Journal, request: Request, table: Table, gone: range) -> None:
    """These entries of a table fell out of the window."""
    for index in gone:
        journal.note((NULL, NULL_BLOCK, request, index))
    if gone:
        _note_entries(journal, request, table, gone.start)


def _note_entries(journal: Journal, request: Request, table: Table, first: int) -> None:
    journal.note((PATCH, request, first, [block.block_id for block in table[first:]]))
