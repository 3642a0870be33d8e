"""Parts that both allocators are made of: reference counts, pending copies, the pool of free ids.

vLLM keeps their counterparts in ``vllm/core/block/common.py`` (release 0.6.4.post1).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from operator import index
from typing import Any

from pagesim.checks import check_token_ids
from pagesim.errors import NoFreeBlocksError, UsageError
from pagesim.v0.block.interfaces import Block
from pagesim.v0.block.undo import UndoLog


class BlockIds:
    """The ids that a pool has. A range stays a range: it costs the same however long it is."""

    __slots__ = ("_ascending",)

    def __init__(self, block_ids: Iterable[int]) -> None:
        self._ascending: Sequence[int]
        if isinstance(block_ids, range) and block_ids.step > 0:
            self._ascending = block_ids
        else:
            self._ascending = sorted(set(block_ids))

    def __len__(self) -> int:
        return len(self._ascending)

    def __iter__(self) -> Iterator[int]:
        return iter(self._ascending)

    def __contains__(self, block_id: object) -> bool:
        return self._find(block_id) is not None

    def rank(self, block_id: int) -> int:
        """How many ids are smaller. UsageError if this is no id of the pool."""
        rank = self._find(block_id)
        if rank is None:
            raise UsageError(f"block {block_id!r} does not belong to this pool")
        return rank

    def first_shared(self, other: BlockIds) -> int | None:
        """The smallest id that ``other`` has as well; None if there is none."""
        few, many = sorted((self._ascending, other._ascending), key=len)
        start = bisect_left(few, many[0]) if many else 0
        within = takewhile(lambda block_id: block_id <= many[-1], few[start:])
        return next((i for i in within if i in self and i in other), None)

    def _find(self, block_id: Any) -> int | None:
        ids = self._ascending
        try:
            rank = bisect_left(ids, index(block_id))
        except TypeError:
            return None
        return rank if rank < len(ids) and ids[rank] == block_id else None


class FreeBlockIds:
    """The free ids of a pool: vLLM's deque, of which only the ids that were taken once take room.

    Ids are taken at the left and given back at the left, so those that were never taken are always
    the last ones, in the order of ``block_ids``.
    """

    __slots__ = ("_block_ids", "num_fresh", "returned")

    def __init__(self, block_ids: Sequence[int]) -> None:
        self._block_ids = block_ids
        self.num_fresh = len(block_ids)
        """How many were never taken: the last ones of ``block_ids``."""
        self.returned: list[int] = []
        """Those given back, the last one in front."""

    def __len__(self) -> int:
        return len(self.returned) + self.num_fresh

    def __iter__(self) -> Iterator[int]:
        yield from reversed(self.returned)
        yield from self._block_ids[len(self._block_ids) - self.num_fresh :]

    def popleft(self) -> int:
        """Take the first id. IndexError if there is none."""
        if self.returned or not self.num_fresh:
            return self.returned.pop()
        block_id = self._block_ids[-self.num_fresh]
        self.num_fresh -= 1
        return block_id

    def take(self, count: int) -> list[int]:
        """What ``count`` calls of :meth:`popleft` give."""
        if not 0 < count <= len(self.returned):
            return [self.popleft() for _ in range(count)]
        taken = self.returned[: -count - 1 : -1]
        del self.returned[-count:]
        return taken

    def appendleft(self, block_id: int) -> None:
        """Give an id back: it is the first one now."""
        self.returned.append(block_id)


class RefCounter:
    """How many handles carry each physical block; 0 is a free block.

    ``all_block_indices`` are the ids that exist. An unknown id or a count below 0 is a UsageError.
    """

    __slots__ = ("all_block_indices", "counts")

    def __init__(self, all_block_indices: Iterable[int]) -> None:
        self.all_block_indices = BlockIds(all_block_indices)
        self.counts: dict[int, int] = {}
        """By id; an id that was never taken is missing."""

    def incr(self, block_id: int) -> int:
        """One owner more; returns the new count."""
        count = self.get(block_id) + 1
        self.counts[block_id] = count
        return count

    def decr(self, block_id: int) -> int:
        """One owner less; returns the new count."""
        count = self.get(block_id) - 1
        if count < 0:
            raise UsageError(f"block {block_id} has no owner left: it was freed once too often")
        self.counts[block_id] = count
        return count

    def get(self, block_id: int) -> int:
        """The number of owners of ``block_id``."""
        try:
            return self.counts[block_id]
        except KeyError:
            self.all_block_indices.rank(block_id)  # an unknown id is an error
            return 0

    def as_readonly(self) -> ReadOnlyRefCounter:
        """A view that counts along but refuses to be changed."""
        return ReadOnlyRefCounter(self)


class ReadOnlyRefCounter:
    """A RefCounter that can be read only: ``incr`` and ``decr`` raise ValueError."""

    __slots__ = ("_counter",)

    def __init__(self, counter: RefCounter) -> None:
        self._counter = counter

    def incr(self, block_id: int) -> int:
        raise ValueError(f"this view is read-only: block {block_id} cannot gain an owner here")

    def decr(self, block_id: int) -> int:
        raise ValueError(f"this view is read-only: block {block_id} cannot lose an owner here")

    def get(self, block_id: int) -> int:
        """The number of owners of ``block_id``."""
        return self._counter.get(block_id)


class CopyOnWriteTracker:
    """Remembers which block must be copied where before the next step runs.

    ``refcounter`` tells how many share a block: only a block with a single owner may be written to.
    """

    __slots__ = ("_refcounter", "copies")

    def __init__(self, refcounter: RefCounter | ReadOnlyRefCounter) -> None:
        self.copies: list[tuple[int, int]] = []
        """What :meth:`clear_cows` will hand out. Live: read it only."""
        self._refcounter = refcounter

    def is_appendable(self, block: Block) -> bool:
        """Whether ``block`` may be written in place: it has no id yet, or a single owner."""
        return block.block_id is None or self._refcounter.get(block.block_id) <= 1

    def record_cow(self, src_block_id: int, trg_block_id: int) -> None:
        """The content of ``src_block_id`` must be copied to ``trg_block_id``."""
        self.copies.append((src_block_id, trg_block_id))

    def drop_last(self) -> None:
        """Take back the last :meth:`record_cow`."""
        self.copies.pop()

    def clear_cows(self) -> list[tuple[int, int]]:
        """The copies since the last call, in order; forgets them."""
        copies, self.copies = self.copies, []
        return copies


class BlockIdPool:
    """The free ids of one device as a stack, and the owners of those in use.

    Ids are taken from the left; an id that loses its last owner returns to the left, so the block
    freed last is taken next (LIFO). Each method notes its inverse while ``undo`` is active.
    """

    __slots__ = ("free", "refcounter", "undo")

    def __init__(self, block_ids: Sequence[int], undo: UndoLog) -> None:
        self.free = FreeBlockIds(block_ids)
        self.refcounter = RefCounter(block_ids)
        self.undo = undo

    def take(self) -> int:
        """A free id, now with one owner. NoFreeBlocksError when there is none."""
        try:
            block_id = self.free.popleft()
        except IndexError:
            total = len(self.refcounter.all_block_indices)
            raise NoFreeBlocksError(f"no free block: all {total} of this pool are taken") from None
        self.refcounter.counts[block_id] = 1
        if self.undo.active:
            self.undo.note(self._untake, block_id)
        return block_id

    def share(self, block_id: int) -> int:
        """One owner more; returns the new count."""
        count = self.refcounter.incr(block_id)
        if self.undo.active:
            self.undo.note(self.refcounter.decr, block_id)
        return count

    def drop_owner(self, block_id: int) -> int:
        """One owner less, without returning the id to the free list; returns the new count."""
        count = self.refcounter.decr(block_id)
        if self.undo.active:
            self.undo.note(self.refcounter.incr, block_id)
        return count

    def release(self, block_id: int) -> int:
        """One owner less; the id is free again when that was the last. Returns the new count."""
        counts = self.refcounter.counts
        count = counts[block_id] - 1
        if count < 0:
            raise UsageError(f"block {block_id} is free already: nobody owns it")
        counts[block_id] = count
        if count == 0:
            self.free.appendleft(block_id)
        if self.undo.active:
            self.undo.note(self._unrelease, block_id)
        return count

    def _untake(self, block_id: int) -> None:
        self.refcounter.counts[block_id] = 0
        self.free.appendleft(block_id)

    def _unrelease(self, block_id: int) -> None:
        if self.refcounter.incr(block_id) == 1:
            self.free.popleft()


class BlockList:
    """The blocks of one table beside their ids, kept in step.

    ``ids`` is the live list that a table shows as its ``physical_block_ids``.
    """

    __slots__ = ("blocks", "ids", "undo")

    def __init__(self, blocks: Iterable[Block], undo: UndoLog) -> None:
        self.undo = undo
        self.blocks: list[Block] = []
        self.ids: list[int] = []
        self.update(blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def update(self, blocks: Iterable[Block]) -> None:
        """Hold ``blocks`` instead. UsageError if one of them was freed."""
        blocks = list(blocks)
        ids = [block.block_id for block in blocks]
        if None in ids:
            raise UsageError(f"block {ids.index(None)} of the table was freed: it has no id")
        if self.undo.active:
            self.undo.note(self._put_back, self.blocks, self.ids)
        self.blocks, self.ids = blocks, ids  # type: ignore[assignment]

    def append(self, block: Block) -> None:
        """Add a block at the end."""
        self.blocks.append(block)
        self.ids.append(block.block_id)  # type: ignore[arg-type]
        if self.undo.active:
            self.undo.note(self._drop_last)

    def replace(self, index: int, block: Block) -> None:
        """Put ``block`` in the place of another, or note that the block there changed its id."""
        if self.undo.active:
            self.undo.note(self._put_at, index, self.blocks[index], self.ids[index])
        self.blocks[index] = block
        self.ids[index] = block.block_id  # type: ignore[assignment]

    def _drop_last(self) -> None:
        self.blocks.pop()
        self.ids.pop()

    def _put_at(self, index: int, block: Block, block_id: int) -> None:
        self.blocks[index] = block
        self.ids[index] = block_id

    def _put_back(self, blocks: list[Block], ids: list[int]) -> None:
        self.blocks, self.ids = blocks, ids


def chain_of(last_block: Block) -> list[Block]:
    """The blocks from the first to ``last_block``, found by walking back through ``prev_block``."""
    chain: list[Block] = []
    block: Block | None = last_block
    while block is not None:
        chain.append(block)
        block = block.prev_block
    chain.reverse()
    return chain


def cdiv(a: int, b: int) -> int:
    """``a / b``, rounded up."""
    return -(-a // b)


def block_tokens(token_ids: Iterable[int], block_size: int) -> list[int]:
    """The tokens of one block as a list of their own; UsageError if they do not fit into it."""
    tokens = check_token_ids("token_ids", token_ids)
    if len(tokens) > block_size:
        raise UsageError(f"{len(tokens)} tokens do not fit into a block of {block_size} slots")
    return tokens


def check_room(block: Block, num_tokens: int) -> None:
    """UsageError unless ``block`` has ``num_tokens`` empty slots."""
    if num_tokens > block.num_empty_slots:
        raise UsageError(
            f"{num_tokens} tokens do not fit into block {block.block_id}: "
            f"{block.num_empty_slots} of its {block.block_size} slots are empty"
        )
