"""The naive allocator: a list of free ids and reference counts; it remembers no content.

Source: vLLM 0.6.4.post1, ``vllm/core/block/naive_block.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from operator import length_hint
from typing import Any, ClassVar

from pagesim.checks import NaturalCount, Positive, check_int, checked
from pagesim.errors import NoFreeBlocksError, UsageError
from pagesim.journal import Journal, event
from pagesim.journal.effects import COPY, FREE, FRONT, SHARE, TAKE, UNSHARE, WRITE
from pagesim.journal.state import State
from pagesim.v0.block.common import (
    CopyOnWriteTracker,
    RefCounter,
    ascending,
    block_id_of,
    check_block_ids,
    check_no_device,
    check_tokens_of_block,
    get_all_blocks,
    rank_of,
)
from pagesim.v0.block.interfaces import Block, BlockAllocator, Device
from pagesim.v0.state import read_pools


class NaiveBlock:
    """A handle on one physical block: its tokens, and the id under which they are stored.

    ``token_ids`` holds at most ``block_size`` tokens; ``block_id`` is None after it has been freed.
    Writing to a block that another handle shares first moves this handle to a new block.
    """

    __slots__ = ("allocator", "block_id", "block_size", "prev_block", "token_ids")
    computed = False

    def __init__(
        self,
        prev_block: Block | None,
        token_ids: Iterable[int],
        block_size: int,
        allocator: Any,
        block_id: int | None = None,
    ) -> None:
        self.block_size = check_int("block_size", block_size, 1)
        self.token_ids = check_tokens_of_block(token_ids, block_size)
        self.prev_block = prev_block
        self.allocator = allocator
        self.block_id = block_id

    @property
    def is_full(self) -> bool:
        return len(self.token_ids) == self.block_size

    @property
    def num_empty_slots(self) -> int:
        return self.block_size - len(self.token_ids)

    @property
    def num_tokens_total(self) -> int:
        return sum(len(block.token_ids) for block in get_all_blocks(self))

    @property
    def content_hash(self) -> int | None:
        return None

    @property
    def last_accessed(self) -> float:
        return -1.0

    def append_token_ids(self, token_ids: Sequence[int]) -> None:
        tokens, block_id, allocator = self.token_ids, self.block_id, self.allocator
        if len(token_ids) > self.block_size - len(tokens):
            raise UsageError(
                f"{len(token_ids)} tokens do not fit into block {self.block_id}: "
                f"{self.num_empty_slots} of its {self.block_size} slots are empty"
            )
        if block_id is not None and allocator.ref_counts.get(block_id) != 1:
            allocator.cow_block_if_not_appendable(self)
        if (journal := allocator.journal).active:  # once per token
            row, new = (WRITE, self.block_id, len(token_ids)), slice(len(tokens), None)
            journal.note(row, tokens.__delitem__, new)
        tokens += token_ids

    def __repr__(self) -> str:
        return f"{type(self).__name__}(block_id={self.block_id}, token_ids={self.token_ids})"


class NaiveBlockAllocator(BlockAllocator):
    """One device's pool: ``num_blocks`` blocks of ``block_size`` slots, with ids from 0.

    Every call either succeeds or, on an error, leaves pool, handles and records as they were.
    Allocators that share a ``journal`` roll back their parts of a larger call together. ``pool`` is
    the device's name in a timeline.
    """

    block_class: ClassVar[Callable[..., Block]] = NaiveBlock

    @checked
    def __init__(
        self,
        num_blocks: NaturalCount,
        block_size: Positive,
        block_ids: Iterable[int] | None = None,
        *,
        journal: Journal | None = None,
        pool: str = "GPU",
    ) -> None:
        self._free_block_indices: deque[int] = deque()
        """Free ids, the next one first; those that were never taken come behind them."""
        ids = check_block_ids(num_blocks, block_ids)
        self._never_taken = iter(ids)  # a pool costs what is used of it
        self.block_ids = ascending(ids)  # free or not
        self.block_size = block_size
        self.journal = journal or Journal()
        self.parent: Any = None
        """The allocator of both devices that this one belongs to, if any."""
        self._refcounter = RefCounter(self.block_ids, self.journal)
        self.ref_counts = self._refcounter.counts
        self.cow_tracker = CopyOnWriteTracker(self._refcounter.as_readonly())
        self.pool, self._free_list = pool, f"{pool} free list"

    # -- allocating, sharing, freeing ------------------------------------------------------------

    @event()
    def allocate_mutable_block(
        self, prev_block: Block | None, device: Device | None = None
    ) -> Block:
        check_no_device(device)
        block_id = self._allocate_block_id()
        return self.block_class(prev_block, (), self.block_size, self, block_id)

    @event()
    def allocate_immutable_block(
        self, prev_block: Block | None, token_ids: Sequence[int], device: Device | None = None
    ) -> Block:
        return self.allocate_immutable_blocks(prev_block, [token_ids], device)[0]

    @event(atomic=True)
    def allocate_immutable_blocks(
        self,
        prev_block: Block | None,
        block_token_ids: Sequence[Sequence[int]],
        device: Device | None = None,
    ) -> list[Block]:
        check_no_device(device)
        blocks: list[Block] = []
        for token_ids in block_token_ids:
            tokens = check_tokens_of_block(token_ids, self.block_size)
            prev_block = self._allocate_immutable_block(prev_block, tokens)
            blocks.append(prev_block)
        return blocks

    def _allocate_immutable_block(
        self, prev_block: Block | None, token_ids: Sequence[int]
    ) -> Block:
        block_id = self._allocate_block_id()
        block = self.block_class(prev_block, (), self.block_size, self, block_id)
        block.token_ids = token_ids  # type: ignore[assignment]
        self.journal.note((WRITE, block_id, len(token_ids)))
        return block

    def _allocate_block_id(self) -> int:
        free = self._free_block_indices
        block_id = free.popleft() if free else next(self._never_taken, None)
        if block_id is None:
            total = len(self.block_ids)
            raise NoFreeBlocksError(f"no free block: all {total} of this pool are taken")
        if self.journal.active:  # once per block
            self.journal.note((TAKE, block_id, self._free_list), free.appendleft, block_id)
            self.journal.undo(self.ref_counts.__setitem__, block_id, 0)
        self.ref_counts[block_id] = 1
        return block_id

    @event()
    def free(self, block: Block) -> None:
        self._free_block_id(block)

    def _free_block_id(self, block: Block) -> None:
        block_id = block_id_of(block)
        if not self._let_go(block, block_id):
            free = self._free_block_indices
            free.appendleft(block_id)
            self.journal.note((FREE, block_id, self._free_list, FRONT), free.popleft)

    def _let_go(self, block: Block, block_id: int) -> int:
        """Take a handle off its block; returns how many owners remain."""
        refcount = self._refcounter.decr(block_id)
        self.journal.was(block, "block_id")
        block.block_id = None
        if refcount:
            self.journal.note((UNSHARE, block_id))
        return refcount

    @event()
    def fork(self, last_block: Block) -> list[Block]:
        block_id_of(last_block)
        return self.fork_blocks(get_all_blocks(last_block))

    @event(atomic=True)
    def fork_blocks(self, blocks: Sequence[Block]) -> list[Block]:
        forked_blocks: list[Block] = []
        prev_block = blocks[0].prev_block if blocks else None
        for block in blocks:
            self._share_block_id(block_id_of(block))
            prev_block = self._fork_block(prev_block, block)
            forked_blocks.append(prev_block)
        return forked_blocks

    def _fork_block(self, prev_block: Block | None, block: Any) -> Any:
        return self.block_class(prev_block, block.token_ids, self.block_size, self, block.block_id)

    def _share_block_id(self, block_id: int) -> None:
        self._refcounter.owned(block_id, " to share it with")
        self._refcounter.incr(block_id)
        self.journal.note((SHARE, block_id))

    # -- copy-on-write ---------------------------------------------------------------------------

    @event()
    def cow_block_if_not_appendable(self, block: Block) -> int:
        src_block_id = block_id_of(block)
        owners = self._refcounter.owned(src_block_id, " that could write")
        if owners == 1:
            return src_block_id
        trg_block_id = self._allocate_block_id()
        self._let_go(block, src_block_id)
        block.block_id = trg_block_id
        self.cow_tracker.record_cow(src_block_id, trg_block_id)
        self.journal.note((COPY, src_block_id, trg_block_id, owners), self.cow_tracker.copies.pop)
        return trg_block_id

    def clear_copy_on_writes(self) -> list[tuple[int, int]]:
        self.journal.was(self.cow_tracker, "copies")
        return self.cow_tracker.clear_cows()

    # -- swapping --------------------------------------------------------------------------------

    @event(atomic=True)
    def swap_out(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._free_block_id(block)

    @event(atomic=True)
    def swap_in(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if not hasattr(block, "block_id") or block.block_id is not None:
                used = block_id_of(block)
                raise UsageError(f"block {used} is in use: swap it out before swapping it in")
            self.journal.was(block, "block_id", "allocator")
            self._allocate_swapped_block(block)
            block.allocator = self

    def _allocate_swapped_block(self, block: Block) -> None:
        block.block_id = self._allocate_block_id()

    def get_num_full_blocks_touched(self, blocks: Sequence[Block]) -> int:
        return len({id(block) for block in blocks if block.is_full})

    # -- state -----------------------------------------------------------------------------------

    def state(self) -> State:
        """Return the present state of the pool, and that of the other device if there is one."""
        return read_pools([self]) if self.parent is None else self.parent.state()

    @property
    def all_block_ids(self) -> frozenset[int]:
        return frozenset(self.block_ids)

    @property
    def free_block_ids(self) -> tuple[int, ...]:
        return (*self._free_block_indices, *copy(self._never_taken))

    @property
    def pending_copies(self) -> tuple[tuple[int, int], ...]:
        """The copies that :meth:`clear_copy_on_writes` would return."""
        return tuple(self.cow_tracker.copies)

    def get_ref_count(self, block_id: int) -> int:
        return self._refcounter.get(block_id)

    def get_num_free_blocks(self) -> int:
        return len(self._free_block_indices) + length_hint(self._never_taken)

    def get_num_total_blocks(self) -> int:
        return len(self.block_ids)

    def get_physical_block_id(self, absolute_id: int) -> int:
        return rank_of(absolute_id, self.block_ids)
