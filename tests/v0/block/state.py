"""Everything that a failed call must leave as it was, copied into plain values that compare.

Reading private attributes is this module's business, and only this module's.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

import pagesim

State = dict[str, Any]


def everything(
    owner: pagesim.SelfAttnBlockSpaceManager | pagesim.CpuGpuBlockAllocator | Any,
    tables: Iterable[pagesim.BlockTable] = (),
    seqs: Iterable[pagesim.Sequence] = (),
) -> State:
    """A deep copy of what ``owner`` and the objects beside it say, as plain values."""
    state: State = {}
    tables, allocator = list(tables), owner
    if isinstance(owner, pagesim.SelfAttnBlockSpaceManager):
        allocator = owner.block_allocator
        of_seqs = dict(sorted(owner.block_tables.items()))  # the order of a dict means nothing
        tables += of_seqs.values()
        state["sequences with a table"] = list(of_seqs)
        state["computed tracker"] = {
            seq_id: (list(ids), gap) for seq_id, (ids, gap) in owner._computed_blocks._known.items()
        }
        state["access tracker"] = dict(owner._last_access._last_access)
    if isinstance(allocator, pagesim.CpuGpuBlockAllocator):
        for device in pagesim.Device:
            state[device.name] = pool(allocator.allocator_on(device))
        state["swaps"] = list(allocator._swap_mapping.items())
        null = allocator._null_block
        state["null block"] = None if null is None else null.block_id
    else:
        state["pool"] = pool(allocator)
    journal = allocator.journal
    state["journal"] = journal.active, *map(len, (journal._inverses, journal._rows, journal._marks))
    state["tables"] = [table_state(table) for table in tables]
    state["identities"] = [[id(block) for block in table.blocks] for table in tables]
    state["sequences"] = [sequence(seq) for seq in seqs]
    return state


def refused(
    error: type[Exception], match: str, call: Callable[[], Any], owner: Any = None, *others: Any
) -> None:
    """``call`` raises this very error; the owner and tables and sequences beside it stay equal."""
    seqs = [other for other in others if isinstance(other, pagesim.Sequence)]
    tables = [other for other in others if other not in seqs]
    before = None if owner is None else everything(owner, tables, seqs)
    with pytest.raises(error, match=match) as caught:
        call()
    assert type(caught.value) is error
    assert owner is None or everything(owner, tables, seqs) == before


def pool(allocator: Any) -> State:
    """One device: who owns what, what is free in which order, what is cached."""
    state: State = {
        "counts": {i: count for i, count in allocator.ref_counts.items() if count},
        "free": list(allocator.free_block_ids),
        "copies": list(allocator.pending_copies),
    }
    if isinstance(allocator, pagesim.PrefixCachingBlockAllocator):
        state["evictor"] = [
            (block_id, entry.content_hash, entry.num_hashed_tokens, entry.last_accessed)
            for block_id, entry in allocator.evictor.free_table.items()
        ]
        state["cached"] = {chain(c): i for c, i in allocator._cached_blocks.items()}
        state["content at"] = {i: chain(c) for i, c in allocator._content_at.items()}
        state["touched"] = set(allocator._touched_blocks)
        state["lookups"] = allocator._metric
        state["records"] = {
            block_id: (tracker.last_accessed, tracker.computed)
            for block_id, tracker in allocator._block_tracker.items()
        }
    return state


def table_state(table: pagesim.BlockTable) -> State:
    """One table: its ids, its tokens, how far it is filled, where its handles point."""
    null = table._allocator._null_block
    return {
        "ids": list(table.physical_block_ids),
        "blocks": [handle(block) for block in table.blocks],
        "null": [index for index, block in enumerate(table.blocks) if block is null],
        "slots": table.num_full_slots,
        "dropped": table._num_dropped_blocks,
    }


def handle(block: Any) -> tuple[Any, ...]:
    """One handle: its id, its tokens, its content, which pool it belongs to."""
    content = getattr(block, "content", None)
    here = min(block.allocator.all_block_ids, default=None)
    known = None if content is None else chain(content)
    return block.block_id, list(block.token_ids), here, known, block.computed


def sequence(seq: pagesim.Sequence) -> tuple[Any, ...]:
    """One sequence: status, tokens, progress."""
    data = seq.data
    return seq.seq_id, seq.status, list(data.token_ids), data.get_num_computed_tokens(), data.stage


def chain(content: Any) -> tuple[tuple[int, ...], ...]:
    """What a content stands for: the tokens of all blocks up to it."""
    tokens = []
    while content is not None:
        tokens.append(content.token_ids)
        content = content.parent
    return tuple(reversed(tokens))
