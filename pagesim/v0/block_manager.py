"""The block manager: keeps a block table for every sequence and knows what fits.

Source: vLLM 0.6.4.post1, ``vllm/core/block_manager.py`` (``SelfAttnBlockSpaceManager``).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from pagesim.checks import (
    Flag,
    Fraction,
    Natural,
    Positive,
    check_int,
    check_status,
    check_time,
    checked,
)
from pagesim.errors import UsageError
from pagesim.journal import Kept, event
from pagesim.journal.state import State
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.common import cdiv
from pagesim.v0.block.computed_blocks import ComputedBlocksTracker, LastAccessBlocksTracker
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import Block, Device
from pagesim.v0.sequence import Sequence, SequenceGroup, SequenceStatus

RUNNING = SequenceStatus.RUNNING


class AllocStatus(enum.Enum):
    """Whether a group fits now, later when blocks have been freed, or never on this GPU."""

    OK = enum.auto()
    LATER = enum.auto()
    NEVER = enum.auto()


def first_seq_id(_: object, result: object, seq_group: SequenceGroup, *more: object) -> int:
    """The subject of an event about a group: its first sequence."""
    return seq_group.first_seq.seq_id


class SelfAttnBlockSpaceManager:
    """Block tables for sequences, on a GPU pool and a CPU pool.

    ``watermark`` is the fraction of the GPU pool that admission and swapping in leave free, so
    that running sequences can grow. ``sliding_window`` is in tokens. A call that finds no room
    raises NoFreeBlocksError and changes nothing; call ``can_*`` first, as the scheduler does.
    """

    @checked
    def __init__(
        self,
        block_size: int,
        num_gpu_blocks: int,
        num_cpu_blocks: int,
        watermark: Fraction = 0.01,
        sliding_window: Positive | None = None,
        enable_caching: Flag = False,
    ) -> None:
        self.block_allocator = CpuGpuBlockAllocator.create(
            "prefix_caching" if enable_caching else "naive",
            num_gpu_blocks,
            num_cpu_blocks,
            block_size,
        )
        self.block_size = block_size
        self.num_total_gpu_blocks, self.num_total_cpu_blocks = num_gpu_blocks, num_cpu_blocks
        self.sliding_window = sliding_window
        self.max_block_sliding_window: int | None = None
        if sliding_window is not None:
            # One more because // rounds down, and one more because the last block may be partial.
            self.max_block_sliding_window = sliding_window // block_size + 2
        self.watermark = watermark
        self.watermark_blocks = int(watermark * num_gpu_blocks)
        self.enable_caching = enable_caching
        self._gpu = self.block_allocator.allocator_on(Device.GPU)
        self._cow_tracker = self._gpu.cow_tracker
        self.journal = self.block_allocator.journal
        self.block_tables: Kept[int, BlockTable] = Kept(self.journal)
        self.block_allocator.tables = self.block_tables
        self._computed_blocks = ComputedBlocksTracker(self.block_allocator)
        self._last_access = LastAccessBlocksTracker(self.block_allocator)

    # -- state -----------------------------------------------------------------------------------

    def state(self) -> State:
        """Return the present state of tables and pools."""
        return self.block_allocator.state()

    def get_block_table(self, seq: Sequence) -> list[int]:
        """Return the block ids of a sequence, first to last, as a new list."""
        return self._table(seq).physical_block_ids.copy()

    def get_num_free_gpu_blocks(self) -> int:
        """Return the number of GPU blocks that could be taken now."""
        return self._gpu.get_num_free_blocks()

    def get_num_free_cpu_blocks(self) -> int:
        """Return the number of CPU blocks that could be taken now."""
        return self.block_allocator.get_num_free_blocks(Device.CPU)

    def get_prefix_cache_hit_rate(self, device: Device) -> float:
        """Return hits ÷ lookups on ``device``, or -1 without caching."""
        return self.block_allocator.get_prefix_cache_hit_rate(device)

    # -- prompts ---------------------------------------------------------------------------------

    def can_allocate(self, seq_group: SequenceGroup, num_lookahead_slots: int = 0) -> AllocStatus:
        """Whether a waiting group's prompt fits above the watermark, not counting cache hits."""
        check_int("num_lookahead_slots", num_lookahead_slots, 0)
        required = self.num_required_blocks(seq_group, num_lookahead_slots)
        if self.num_total_gpu_blocks - required < self.watermark_blocks:
            return AllocStatus.NEVER
        if self._gpu.get_num_free_blocks() - required >= self.watermark_blocks:
            return AllocStatus.OK
        return AllocStatus.LATER

    def num_required_blocks(self, seq_group: SequenceGroup, num_lookahead_slots: int = 0) -> int:
        """Return how many blocks a waiting group's prompt has to find, not counting cache hits."""
        required = cdiv(_waiting(seq_group)[0].get_len() + num_lookahead_slots, self.block_size)
        if self.max_block_sliding_window is None:
            return required
        return min(required, self.max_block_sliding_window)

    @event(first_seq_id, atomic=True)
    def allocate(self, seq_group: SequenceGroup) -> None:
        """Allocate blocks for the first waiting sequence; the others of the group share them.

        UsageError if one of them already has a table. Changing the status is left to the caller.
        """
        seqs = _waiting(seq_group)
        for seq in seqs:
            self._check_no_table(seq)
        window = self.max_block_sliding_window
        table = BlockTable(self.block_size, self.block_allocator, max_block_sliding_window=window)
        self._add_table(seqs[0], table)
        if seqs[0].get_len():
            table.allocate(seqs[0].get_token_ids())
        for seq in seqs[1:]:
            self._add_table(seq, table.fork())

    # -- growing ---------------------------------------------------------------------------------

    def can_append_slots(self, seq_group: SequenceGroup, num_lookahead_slots: int) -> bool:
        """Whether the running members' new tokens fit in the worst case, ignoring the watermark."""
        if num_lookahead_slots:  # once per token
            check_int("num_lookahead_slots", num_lookahead_slots, 0)
        touched, block_size = 0, self.block_size
        for seq in seq_group.get_seqs(RUNNING):
            table = self.block_tables.get(seq.seq_id) or self._table(seq)
            num_slots = len(seq.data.token_ids) + num_lookahead_slots
            touched += -(-num_slots // block_size) - table.num_full_slots // block_size
        return touched <= self._gpu.get_num_free_blocks()

    def append_slots(self, seq: Sequence, num_lookahead_slots: int) -> list[tuple[int, int]]:
        """Write a sequence's new tokens and reserve lookahead slots; returns copies (from, to)."""
        table = self.block_tables.get(seq.seq_id)
        if table is None or num_lookahead_slots or self.sliding_window or self.journal.wants_events:
            return self._append_slots(seq, num_lookahead_slots)
        unseen = seq.data.token_ids[table.num_full_slots :]
        if len(unseen) != 1:
            return self._append_slots(seq, num_lookahead_slots)
        table._write(unseen)  # the call of every token: not even an event
        return self._gpu.clear_copy_on_writes() if self._cow_tracker.copies else []

    @event(lambda manager, copies, seq, *_: seq.seq_id, kind="append_slots", atomic=True)
    def _append_slots(self, seq: Sequence, num_lookahead_slots: Natural) -> list[tuple[int, int]]:
        table = self.block_tables.get(seq.seq_id) or self._table(seq)
        unseen = seq.data.token_ids[table.num_full_slots :]
        table._append_token_ids(unseen, num_lookahead_slots, seq.data.num_computed_tokens)
        return self._gpu.clear_copy_on_writes() if self._cow_tracker.copies else []

    @event(lambda manager, _, parent, child: child.seq_id)
    def fork(self, parent_seq: Sequence, child_seq: Sequence) -> None:
        """Let the child share the parent's blocks; does nothing if the parent has no table."""
        if parent_seq.seq_id not in self.block_tables:
            return
        self._check_no_table(child_seq)
        self._add_table(child_seq, self.block_tables[parent_seq.seq_id].fork())

    @event(lambda manager, _, seq: seq.seq_id)
    def free(self, seq: Sequence) -> None:
        """Free a sequence's blocks on either device; does nothing if it has no table."""
        table = self.block_tables.get(seq.seq_id)
        if table is None:
            return
        if table.physical_block_ids:
            block_ids = table.physical_block_ids
            self._last_access.update_seq_blocks_last_access(seq.seq_id, block_ids)
            table.free()
        self._last_access.remove_seq(seq.seq_id)
        self._computed_blocks.remove_seq(seq.seq_id)
        del self.block_tables[seq.seq_id]
        self.journal.closed(table)

    # -- prefix caching --------------------------------------------------------------------------

    def access_all_blocks_in_seq(self, seq: Sequence, now: float) -> None:
        """Remember when a sequence was scheduled; :meth:`free` passes the time on to its blocks."""
        check_time("now", now)
        if self.enable_caching:
            self._table(seq)
            self._last_access.update_last_access(seq.seq_id, now)

    def mark_blocks_as_computed(self, seq_group: SequenceGroup, token_chunk_size: int) -> None:
        """Mark the blocks cached since the last call as computed. The arguments are unused."""
        self.block_allocator.mark_blocks_as_computed([])

    def get_common_computed_block_ids(self, seqs: Iterable[Sequence]) -> list[int]:
        """Return the leading blocks that need not be computed again for any of ``seqs``."""
        with self.journal:
            known = [
                self._computed_blocks.get_cached_computed_blocks_and_update(
                    seq.seq_id, self._table(seq).physical_block_ids
                )
                for seq in seqs
            ]
        return self.block_allocator.get_common_computed_block_ids(known)

    # -- swapping --------------------------------------------------------------------------------

    def can_swap_in(self, seq_group: SequenceGroup, num_lookahead_slots: int) -> AllocStatus:
        """Whether a swapped group fits on the GPU above the watermark, with its new tokens."""
        return self._can_swap(
            seq_group,
            Device.GPU,
            SequenceStatus.SWAPPED,
            num_lookahead_slots,
            self.watermark_blocks,
        )

    def can_swap_out(self, seq_group: SequenceGroup) -> bool:
        """Whether a running group fits on the CPU; lookahead slots are not counted."""
        status = self._can_swap(seq_group, Device.CPU, RUNNING, 0, 0)
        return status is AllocStatus.OK

    @event(first_seq_id, atomic=True)
    def swap_in(self, seq_group: SequenceGroup) -> list[tuple[int, int]]:
        """Move a swapped group's blocks to the GPU; returns (CPU, GPU) pairs of cache indices."""
        return self._swap(seq_group, SequenceStatus.SWAPPED, Device.CPU, Device.GPU)

    @event(first_seq_id, atomic=True)
    def swap_out(self, seq_group: SequenceGroup) -> list[tuple[int, int]]:
        """Move a running group's blocks to the CPU; returns (GPU, CPU) pairs of cache indices."""
        return self._swap(seq_group, RUNNING, Device.GPU, Device.CPU)

    def _can_swap(
        self,
        seq_group: SequenceGroup,
        device: Device,
        status: SequenceStatus,
        num_lookahead_slots: int,
        watermark_blocks: int,
    ) -> AllocStatus:
        check_int("num_lookahead_slots", num_lookahead_slots, 0)
        touched = self._num_blocks_to_swap(seq_group, device, status, num_lookahead_slots)
        if self.block_allocator.get_num_total_blocks(device) < touched:
            return AllocStatus.NEVER
        if self.block_allocator.get_num_free_blocks(device) - touched >= watermark_blocks:
            return AllocStatus.OK
        return AllocStatus.LATER

    def _num_blocks_to_swap(
        self, seq_group: SequenceGroup, device: Device, status: SequenceStatus, lookahead: int
    ) -> int:
        """How many blocks of ``device`` a group of this status needs there, new tokens included."""
        touched = 0
        blocks: list[Block] = []
        for seq in seq_group.get_seqs(status):
            table = self._table(seq)
            unseen = table.get_unseen_token_ids(seq.get_token_ids())
            touched += table.get_num_blocks_touched_by_append_slots(unseen, lookahead)
            blocks += table.blocks
        return touched + self.block_allocator.get_num_full_blocks_touched(blocks, device)

    def _swap(
        self, seq_group: SequenceGroup, status: SequenceStatus, source: Device, target: Device
    ) -> list[tuple[int, int]]:
        index = self.block_allocator.get_physical_block_id
        pairs: list[tuple[int, int]] = []
        for seq in seq_group.get_seqs(status):
            table = self._table(seq)
            blocks = table.blocks
            mapping = self.block_allocator.swap(blocks, source, target)
            table.update(blocks)
            pairs += [(index(source, old), index(target, new)) for old, new in mapping.items()]
        return pairs

    # -- tables ----------------------------------------------------------------------------------

    def _table(self, seq: Sequence) -> BlockTable:
        table = self.block_tables.get(seq.seq_id)
        if table is None:
            raise UsageError(f"sequence {seq.seq_id} has no block table: allocate its group first")
        return table

    def _check_no_table(self, seq: Sequence) -> None:
        if seq.seq_id in self.block_tables:
            raise UsageError(
                f"sequence {seq.seq_id} already has a block table: free it first, or give the "
                f"other sequence an id of its own"
            )

    def _add_table(self, seq: Sequence, table: BlockTable) -> None:
        self.block_tables[seq.seq_id] = table
        self.journal.opened(table, seq.seq_id)
        self._computed_blocks.add_seq(seq.seq_id)
        self._last_access.add_seq(seq.seq_id)


def _waiting(seq_group: SequenceGroup) -> list[Sequence]:
    status = seq_group.first_seq.status
    check_status(f"group {seq_group.request_id!r}", status, SequenceStatus.WAITING)
    return seq_group.seqs
