"""What both allocators of a device do alike: owning ids, sharing them, copying on write.

Each allocator adds how an id is found (:meth:`PoolAllocator._take_id`) and what becomes of one
that has no owner left (:meth:`PoolAllocator._give_up`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from pagesim.checks import check_count, check_int, check_token_ids
from pagesim.errors import NoFreeBlocksError, UsageError
from pagesim.v0.block.common import (
    BlockIdPool,
    BlockIds,
    CopyOnWriteTracker,
    RefCounter,
    block_tokens,
    chain_of,
)
from pagesim.v0.block.interfaces import Block, Device
from pagesim.v0.block.undo import UndoLog


class PoolAllocator:
    """One device's pool: ``num_blocks`` blocks of ``block_size`` slots, 0, 1, … by default.

    Every call either succeeds or, on an error, leaves pool, handles and records as they were.
    Allocators that share an ``undo`` log take their part of a larger call back together.
    """

    NoFreeBlocksError: ClassVar[type[NoFreeBlocksError]] = NoFreeBlocksError
    block_class: ClassVar[Callable[..., Block]]

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        block_ids: Iterable[int] | None = None,
        *,
        undo: UndoLog | None = None,
    ) -> None:
        check_count("num_blocks", num_blocks, 0)
        ids = range(num_blocks) if block_ids is None else block_ids
        if not isinstance(ids, range):  # a range is not unrolled: the pool may be large
            ids = check_token_ids("block_ids", ids)
        self.block_ids = BlockIds(ids)
        """The ids of this pool, free or not."""
        if not len(ids) == len(self.block_ids) == num_blocks:
            raise UsageError(f"block_ids must be {num_blocks} distinct ids, not {ids[:8]}…")
        check_int("the smallest of block_ids", next(iter(self.block_ids), 0), 0)
        self.block_size = check_int("block_size", block_size, 1)
        self.undo = undo or UndoLog()
        self.pair: Any = None
        """The allocator of both devices that this one belongs to, if it belongs to one."""
        self._pool = BlockIdPool(ids, self.undo)
        self.ref_counts = self._pool.refcounter.counts
        """block id -> number of handles that carry it. Live: read it only."""
        self._copies = CopyOnWriteTracker(self._pool.refcounter.as_readonly())

    # -- what there is ---------------------------------------------------------------------------

    @property
    def all_block_ids(self) -> frozenset[int]:
        """The ids of this pool, free or not."""
        return frozenset(self.block_ids)

    @property
    def free_block_ids(self) -> tuple[int, ...]:
        """The free ids in the order in which they will be taken (evictable ones not included)."""
        return tuple(self._pool.free)

    @property
    def refcounter(self) -> RefCounter:
        """How many owners each block has."""
        return self._pool.refcounter

    @property
    def copies(self) -> CopyOnWriteTracker:
        """The copies that wait to be done. Live: read it only."""
        return self._copies

    @property
    def pending_copies(self) -> tuple[tuple[int, int], ...]:
        """What :meth:`clear_copy_on_writes` would hand out, without clearing it."""
        return tuple(self._copies.copies)

    def get_ref_count(self, block_id: int) -> int:
        """How many handles carry ``block_id``; 0 when it is free."""
        return self._pool.refcounter.get(block_id)

    def get_num_free_blocks(self) -> int:
        """How many blocks could be taken now."""
        free = self._pool.free
        return len(free.returned) + free.num_fresh  # len(free), asked before every token

    def get_num_total_blocks(self) -> int:
        """How many blocks the pool has."""
        return len(self.block_ids)

    def get_physical_block_id(self, absolute_id: int) -> int:
        """The rank of an id among this device's ids: the index into a cache tensor."""
        return self.block_ids.rank(absolute_id)

    # -- taking, sharing, giving back ------------------------------------------------------------

    def allocate_mutable_block(
        self, prev_block: Block | None, device: Device | None = None
    ) -> Block:
        """An empty block after ``prev_block``. NoFreeBlocksError if there is none to take."""
        check_no_device(device)
        return self.block_class(prev_block, (), self.block_size, self, self._take_id())

    def allocate_immutable_block(
        self, prev_block: Block | None, token_ids: Sequence[int], device: Device | None = None
    ) -> Block:
        """A block that holds ``token_ids`` from the start. NoFreeBlocksError if there is none."""
        check_no_device(device)
        return self.full_block(prev_block, block_tokens(token_ids, self.block_size))

    def full_block(self, prev_block: Block | None, tokens: list[int]) -> Block:
        """:meth:`allocate_immutable_block` for tokens that were checked already, and are kept."""
        block = self.block_class(prev_block, (), self.block_size, self, self._take_id())
        block.token_ids = tokens
        return block

    def allocate_immutable_blocks(
        self,
        prev_block: Block | None,
        block_token_ids: Sequence[Sequence[int]],
        device: Device | None = None,
    ) -> list[Block]:
        """One block for each list of tokens, chained; all of them or, on an error, none."""
        blocks: list[Block] = []
        with self.undo:
            for token_ids in block_token_ids:
                prev_block = self.allocate_immutable_block(prev_block, token_ids, device)
                blocks.append(prev_block)
        return blocks

    def free(self, block: Block) -> None:
        """Give up this handle's share of its block; UsageError if it was freed before."""
        self._give_up(block, owned_id(block, self))

    def fork(self, last_block: Block) -> list[Block]:
        """New handles on the chain that ends at ``last_block``, first to last; ids are shared."""
        owned_id(last_block, self)
        return self.fork_blocks(chain_of(last_block))

    def fork_blocks(self, blocks: Sequence[Block]) -> list[Block]:
        """New handles on ``blocks``, chained to each other, with the same ids and tokens.

        The first follows what the first of ``blocks`` does: it has a predecessor where older blocks
        fell out of a sliding window.
        """
        ids = [owned_id(block, self) for block in blocks]
        forked: list[Block] = []
        prev_block = blocks[0].prev_block if blocks else None
        for block, block_id in zip(blocks, ids, strict=True):
            self._pool.share(block_id)
            prev_block = block.twin(prev_block)
            forked.append(prev_block)
        return forked

    # -- copy-on-write ---------------------------------------------------------------------------

    def cow_block_if_not_appendable(self, block: Block) -> int:
        """The id that ``block`` may be written at: its own, or a fresh one if others share it.

        The copy is recorded for :meth:`clear_copy_on_writes`. NoFreeBlocksError changes nothing.
        """
        source = owned_id(block, self)
        if self._copies.is_appendable(block):
            return source
        target = self._take_id()
        self._pool.drop_owner(source)
        self._copies.record_cow(source, target)
        if self.undo.active:
            self.undo.note(self._copies.drop_last)
            block.keep(self.undo)
        block.block_id = target
        return target

    def clear_copy_on_writes(self) -> list[tuple[int, int]]:
        """The copies (source, target) recorded since the last call, in order; forgets them."""
        if not self._copies.copies:
            return []
        if self.undo.active:
            self.undo.note(setattr, self._copies, "copies", self._copies.copies.copy())
        return self._copies.clear_cows()

    # -- swapping --------------------------------------------------------------------------------

    def swap_out(self, blocks: Sequence[Block]) -> None:
        """Release the ids of ``blocks``, first to last; the handles stay, without an id."""
        with self.undo:
            for block in blocks:
                self._give_up(block, owned_id(block, self))

    # -- what each allocator does its own way ----------------------------------------------------

    def _take_id(self) -> int:
        return self._pool.take()

    def _give_up(self, block: Block, block_id: int) -> None:
        if self.undo.active:
            block.keep(self.undo)
        self._pool.release(block_id)
        block.block_id = None


def check_no_device(device: Device | None) -> None:
    """UsageError if a device is named: the allocator of one device has no choice."""
    if device is not None:
        raise UsageError(f"this allocator serves one device: leave device={device} away")


def owned_id(block: Block, allocator: PoolAllocator) -> int:
    """The id of ``block``; UsageError if it was freed, or lives in another pool."""
    try:
        block_id = block.block_id
        if block.allocator is allocator and allocator.ref_counts[block_id]:
            return block_id  # type: ignore[return-value]
    except (AttributeError, KeyError):
        block_id = id_of(block)
    if block_id is None:
        raise UsageError("the block was freed already: it has no id")
    if block.allocator is not allocator or block_id not in allocator.block_ids:
        raise UsageError(f"block {block_id} does not belong to this pool")
    raise UsageError(f"block {block_id} is free: nobody owns it")


def id_of(block: Block) -> int | None:
    """The id of ``block``, None if it was freed; TypeError if it is no block."""
    try:
        return block.block_id
    except AttributeError:
        raise TypeError(f"block must be a Block, not {block!r}") from None


def check_homeless(block: Block) -> None:
    """UsageError if ``block`` has an id: it must be swapped out before it is swapped in."""
    if id_of(block) is not None:
        raise UsageError(f"block {block.block_id} is in use: swap it out before swapping it in")
