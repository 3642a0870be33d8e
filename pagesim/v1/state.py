"""The present state of pool, tables and queues, as a `State` of a timeline, and how they change."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pagesim.errors import UsageError
from pagesim.journal import Journal
from pagesim.journal.effects import APPEND, KNOWN, NULL, PATCH, WRITE, Name, check_pool_size
from pagesim.journal.state import (
    FULL,
    MAMBA,
    WINDOW,
    Group,
    Queues,
    State,
    TableState,
    table_name,
)
from pagesim.sizing.kv_cache_spec import KVCacheSpec, MambaSpec, SlidingWindowSpec
from pagesim.v1.kv_cache_utils import KVCacheBlock
from pagesim.v1.request import Request

NULL_BLOCK = 0
Table = Sequence[KVCacheBlock]


class GroupTable:
    """A request's table in one of several groups."""

    __slots__ = ("__weakref__", "all_token_ids", "name", "request_id")

    def __init__(self, request: Request, group_id: int) -> None:
        self.request_id, self.all_token_ids = request.request_id, request.all_token_ids
        self.name = table_name(request.request_id, group_id)


Owner = Request | GroupTable
"""What stands for a table in the rows of a journal: a request, or its part in one group."""


def check_name(request_id: Name, taken: Container[Name]) -> None:
    """UsageError if requests 7 and "7" meet: a timeline would call their tables alike."""
    other: Name = str(request_id)
    if isinstance(request_id, str):
        other = int(request_id) if request_id.isascii() and request_id.isdecimal() else -1
    if other != request_id and str(other) == str(request_id) and other in taken:
        raise UsageError(
            f"requests {other!r} and {request_id!r} cannot be recorded together: a timeline would "
            "call their tables alike; give one of them another id"
        )


def groups_as_shown(specs: Sequence[KVCacheSpec]) -> tuple[Group, ...]:
    """The groups as a timeline has them: none if there is only one."""
    return tuple(map(_group, specs)) if len(specs) > 1 else ()


def _group(spec: KVCacheSpec) -> Group:
    if isinstance(spec, SlidingWindowSpec):
        return Group(WINDOW, spec.block_size, spec.sliding_window)
    return Group(MAMBA if isinstance(spec, MambaSpec) else FULL, spec.block_size)


def read_pool(
    pool: Any,
    free_list: str,
    tables: Mapping[Name, TableState] | None = None,
    groups: tuple[Group, ...] = (),
) -> State:
    """The state of a pool, and of the tables on it.

    UsageError for more blocks than a timeline may have: a state names them all.
    """
    check_pool_size(pool.num_gpu_blocks)
    free = pool.free_block_queue.get_all_free_blocks()
    return State(
        block_size=max(pool.block_sizes.values(), default=pool.hash_block_size),
        pools={"GPU": pool.num_gpu_blocks},
        caching=pool.enable_caching,
        tables=tables or {},
        ref_counts={block.block_id: block.ref_cnt for block in pool.blocks},
        lists={free_list: tuple(block.block_id for block in free)},
        cached=frozenset(block.block_id for block in pool.blocks if block.key is not None),
        null_block=pool.null_block.block_id,
        groups=groups,
    )


def first_table(request_id: Name, num_groups: int) -> Name:
    """The first table of a request: of the same name, unless there are several groups."""
    return table_name(request_id, 0) if num_groups > 1 else request_id


def with_queues(state: State, queues: Mapping[str, Iterable[Request]]) -> State:
    """A state with the requests in a scheduler's queues; a request is its own first sequence."""
    order = {name: tuple(each.request_id for each in queue) for name, queue in queues.items()}
    requests: dict[Name, Name] = {
        request: first_table(request, len(state.groups))
        for queue in order.values()
        for request in queue
    }
    return replace(state, queues=Queues(order), requests=requests)


def note_written(
    journal: Journal,
    owner: Owner,
    table: Table,
    block_size: int,
    start: int,
    end: int,
    num_new_blocks: int,
    states: Iterable[tuple[int, int]] | None = None,
) -> None:
    """Positions ``start`` to ``end`` are written; the table's last blocks are new.

    Tokens that are sampled later are told later. In a table of ``states``, those are written that a
    step keeps: after how many tokens, and in which entry.
    """
    journal.note((KNOWN, owner, owner.all_token_ids, end))
    journal.note((APPEND, owner, start, []))
    if states is None:
        entries = range(start // block_size, -(-end // block_size))
        states = ((min(end, (entry + 1) * block_size), entry) for entry in entries)
    for stop, entry in states:
        if start < stop and not table[entry].is_null:
            journal.note((WRITE, table[entry].block_id, stop - start))
            start = stop
    if num_new_blocks:
        _note_entries(journal, owner, table, len(table) - num_new_blocks)


def note_hits(
    journal: Journal, owner: Owner, hits: Table, block_size: int, num_skipped: int
) -> None:
    """A table begins with these hits; the skipped ones, and those not needed, are null entries."""
    first = next(
        (i for i, block in enumerate(hits) if i >= num_skipped and not block.is_null), len(hits)
    )
    for index in range(first):
        journal.note((NULL, NULL_BLOCK, owner, index))
    journal.note((KNOWN, owner, owner.all_token_ids, len(hits) * block_size))
    journal.note((APPEND, owner, first * block_size, []))


def note_skipped(journal: Journal, owner: Owner, table: Table, gone: Sequence[int]) -> None:
    """These entries of a table fell out of the window, or held a state that nobody needs."""
    for index in gone:
        journal.note((NULL, NULL_BLOCK, owner, index))
    if gone:
        _note_entries(journal, owner, table, min(gone))


def _note_entries(journal: Journal, owner: Owner, table: Table, first: int) -> None:
    journal.note((PATCH, owner, first, [block.block_id for block in table[first:]]))
