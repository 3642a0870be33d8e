"""Parts that allocators and tables are made of: reference counts, pending copies, block lists.

vLLM keeps their counterparts in ``vllm/core/block/common.py`` (release 0.6.4.post1).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from pagesim.checks import check_int, check_token_ids
from pagesim.errors import UsageError
from pagesim.journal import Journal
from pagesim.v0.block.interfaces import Block, Device


class RefCounter:
    """Counts the handles that refer to each physical block; a free block has the count 0.

    ``all_block_indices`` are the ids that exist, in ascending order. UsageError for an unknown id,
    or if a count would fall below 0.
    """

    __slots__ = ("_journal", "all_block_indices", "counts")

    def __init__(self, all_block_indices: Sequence[int], journal: Journal | None = None) -> None:
        self.all_block_indices = all_block_indices
        self.counts: dict[int, int] = {}
        """By id; one that was never taken may be missing. Live: read it only."""
        self._journal = journal or Journal()

    def incr(self, block_id: int) -> int:
        """Add an owner; returns the new count."""
        return self._change(block_id, self.get(block_id), 1)

    def decr(self, block_id: int) -> int:
        """Remove an owner; returns the new count."""
        count = self.counts.get(block_id) or self.owned(block_id, " to remove")
        return self._change(block_id, count, -1)

    def _change(self, block_id: int, count: int, by: int) -> int:
        if self._journal.active:  # once per block
            self._journal.undo(self.counts.__setitem__, block_id, count)
        self.counts[block_id] = count + by
        return count + by

    def get(self, block_id: int) -> int:
        """Return the number of owners of ``block_id``."""
        count = self.counts.get(block_id)
        if count is None:
            rank_of(block_id, self.all_block_indices)  # an unknown id is an error
            return 0
        return count

    def owned(self, block_id: int, purpose: str = "") -> int:
        """:meth:`get`, and UsageError if the block is free."""
        if not (count := self.get(block_id)):
            raise UsageError(f"block {block_id} is free: it has no owner{purpose}")
        return count

    def as_readonly(self) -> ReadOnlyRefCounter:
        """Return a live view that cannot be changed."""
        return ReadOnlyRefCounter(self)


class ReadOnlyRefCounter:
    """A view of a RefCounter: ``incr`` and ``decr`` raise ValueError."""

    __slots__ = ("_counter",)

    def __init__(self, counter: RefCounter) -> None:
        self._counter = counter

    def incr(self, block_id: int) -> int:
        raise ValueError(f"this view is read-only: block {block_id} cannot gain an owner here")

    def decr(self, block_id: int) -> int:
        raise ValueError(f"this view is read-only: block {block_id} cannot lose an owner here")

    def get(self, block_id: int) -> int:
        """Return the number of owners of ``block_id``."""
        return self._counter.get(block_id)


class CopyOnWriteTracker:
    """Remembers which block must be copied where before the next step runs.

    ``refcounter`` counts the owners: only a block with a single owner may be written to.
    """

    __slots__ = ("_refcounter", "copies")

    def __init__(self, refcounter: RefCounter | ReadOnlyRefCounter) -> None:
        self.copies: list[tuple[int, int]] = []
        """What :meth:`clear_cows` will return. Live: read it only."""
        self._refcounter = refcounter

    def is_appendable(self, block: Block) -> bool:
        """Whether ``block`` may be written in place: it has no id yet, or a single owner."""
        return block.block_id is None or self._refcounter.get(block.block_id) <= 1

    def record_cow(self, src_block_id: int, trg_block_id: int) -> None:
        """The content of ``src_block_id`` must be copied to ``trg_block_id``."""
        self.copies.append((src_block_id, trg_block_id))

    def clear_cows(self) -> list[tuple[int, int]]:
        """The copies since the last call, in order; forgets them."""
        copies, self.copies = self.copies, []
        return copies


def get_all_blocks(last_block: Block) -> list[Block]:
    """The blocks from the first to ``last_block``, found by walking back through ``prev_block``."""
    chain: list[Block] = []
    block: Block | None = last_block
    while block is not None:
        chain.append(block)
        block = block.prev_block
    chain.reverse()
    return chain


def block_id_of(block: Block) -> int:
    """The id of a block. UsageError if it was freed, TypeError if it is not a block."""
    try:
        block_id = block.block_id
    except AttributeError:
        raise TypeError(f"block must be a Block, not {block!r}") from None
    if block_id is None:
        raise UsageError("the block was already freed: it has no id")
    return block_id


def check_no_device(device: Device | None) -> None:
    """UsageError if a device is given: the allocator serves only one."""
    if device is not None:
        raise UsageError(f"this allocator serves a single device: omit device={device}")


def check_tokens_of_block(token_ids: Any, block_size: int) -> list[int]:
    """The tokens as a list; UsageError if they exceed a block, TypeError unless they are ints."""
    tokens = check_token_ids("token_ids", token_ids)
    if len(tokens) > block_size:
        raise UsageError(f"{len(tokens)} tokens do not fit into a block of {block_size} slots")
    return tokens


def check_block_ids(num_blocks: int, block_ids: Iterable[int] | None) -> Sequence[int]:
    """The ids of a pool, checked: one per block, distinct, none below 0.

    A range stays one, which costs the same at any length: the pool may be large.
    """
    ids = range(num_blocks) if block_ids is None else block_ids
    if not isinstance(ids, range):
        ids = check_token_ids("block_ids", ids)
    if not len(ids) == num_blocks == len(ids if isinstance(ids, range) else set(ids)):
        raise UsageError(f"block_ids must be {num_blocks} distinct ids, not {ids[:8]}…")
    check_int("the smallest of block_ids", next(iter(ascending(ids)), 0), 0)
    return ids


def ascending(block_ids: Sequence[int]) -> Sequence[int]:
    """Distinct ids in order."""
    is_ascending = isinstance(block_ids, range) and block_ids.step > 0
    return block_ids if is_ascending else sorted(block_ids)


def find_rank(block_id: int, ids: Sequence[int]) -> int | None:
    """How many of the ascending ``ids`` are smaller; None if ``block_id`` is not one of them."""
    try:
        rank = bisect_left(ids, index(block_id))
    except TypeError:
        return None
    return rank if rank < len(ids) and ids[rank] == block_id else None


def first_shared(ids: Sequence[int], others: Sequence[int]) -> int | None:
    """The smallest id that both of two pools have; None if there is none."""
    few, many = sorted((ids, others), key=len)
    within = few[bisect_left(few, many[0]) : bisect_right(few, many[-1])] if many else few
    return next((block_id for block_id in within if find_rank(block_id, many) is not None), None)


def rank_of(block_id: int, ids: Sequence[int]) -> int:
    """:func:`find_rank`, and UsageError for the id of another pool."""
    rank = find_rank(block_id, ids)
    if rank is None:
        raise UsageError(f"block {block_id!r} does not belong to this pool")
    return rank


def cdiv(a: int, b: int) -> int:
    """``a / b``, rounded up."""
    return -(-a // b)
