"""One sequence's block table: which physical block holds which part of its tokens.

Token ``i`` lives in block ``physical_block_ids[i // block_size]``, slot ``i % block_size``.

Source: vLLM 0.6.4.post1, ``vllm/core/block/block_table.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pagesim.checks import check_int, check_token_ids
from pagesim.errors import UsageError
from pagesim.v0.block.common import BlockList, cdiv
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import Block, Device


class BlockTable:
    """The blocks of one sequence, first to last. Every call succeeds or changes nothing.

    ``max_block_sliding_window`` is the number of blocks a sliding window can reach; older ones are
    dropped when tokens are appended. ``_blocks`` lets a table be built on existing handles.
    """

    def __init__(
        self,
        block_size: int,
        block_allocator: CpuGpuBlockAllocator,
        _blocks: Sequence[Block] | None = None,
        max_block_sliding_window: int | None = None,
    ) -> None:
        self._block_size = check_int("block_size", block_size, 1)
        if not isinstance(block_allocator, CpuGpuBlockAllocator):
            raise TypeError(f"block_allocator must serve both devices, not be {block_allocator!r}")
        if block_size != block_allocator.block_size:
            raise UsageError(
                f"block_size must be the allocator's {block_allocator.block_size}, not {block_size}"
            )
        if max_block_sliding_window is not None:
            check_int("max_block_sliding_window", max_block_sliding_window, 1)
        self._allocator = block_allocator
        self._gpu = block_allocator.allocator_on(Device.GPU)
        self._undo = block_allocator.undo
        self._max_block_sliding_window = max_block_sliding_window
        self._blocks = BlockList(_blocks or (), self._undo)
        self._num_dropped_blocks = 0
        self.num_full_slots = sum(len(block.token_ids) for block in self._blocks.blocks)
        """How many tokens the table holds."""

    # -- what there is ---------------------------------------------------------------------------

    @property
    def blocks(self) -> list[Block]:
        """The handles, first to last, in a list of their own."""
        return list(self._blocks.blocks)

    @property
    def physical_block_ids(self) -> list[int]:
        """The ids, first to last. The live list: read it, or copy it; don't change it."""
        return self._blocks.ids

    @property
    def block_size(self) -> int:
        """Slots of a block."""
        return self._block_size

    def get_unseen_token_ids(self, sequence_token_ids: list[int]) -> list[int]:
        """The tail of a sequence that the table has not been told about."""
        return sequence_token_ids[self.num_full_slots :]

    @staticmethod
    def get_num_required_blocks(
        token_ids: Sequence[int], block_size: int, num_lookahead_slots: int = 0
    ) -> int:
        """Blocks for ``token_ids`` and some slots more. Cache hits give no discount."""
        check_int("block_size", block_size, 1)
        check_int("num_lookahead_slots", num_lookahead_slots, 0)
        return cdiv(len(token_ids) + num_lookahead_slots, block_size)

    def get_num_blocks_touched_by_append_slots(
        self, token_ids: Sequence[int], num_lookahead_slots: int
    ) -> int:
        """Blocks that appending would write to, at worst: the partial last one always counts."""
        check_int("num_lookahead_slots", num_lookahead_slots, 0)
        num_slots = self.num_full_slots + len(token_ids) + num_lookahead_slots
        return self.num_blocks_touched_by_growing_to(num_slots)

    def num_blocks_touched_by_growing_to(self, num_slots: int) -> int:
        """The same, for a table that is to hold ``num_slots`` slots in all."""
        block_size = self._block_size
        return -(-num_slots // block_size) - self.num_full_slots // block_size

    # -- growing ---------------------------------------------------------------------------------

    def allocate(self, token_ids: Sequence[int], device: Device = Device.GPU) -> None:
        """Give the tokens of a prompt their blocks: full ones immutable, the rest mutable.

        UsageError if the table has blocks already or there are no tokens; NoFreeBlocksError if
        ``device`` has too few blocks.
        """
        if self._blocks.blocks:
            raise UsageError(f"the table is allocated: it holds {len(self._blocks)} blocks")
        tokens = check_token_ids("token_ids", token_ids)
        if not tokens:
            raise UsageError("token_ids is empty: a table is allocated for at least one token")
        allocator, block_size = self._allocator.allocator_on(device), self._block_size
        end_of_full = len(tokens) - len(tokens) % block_size
        with self._undo:
            blocks: list[Block] = []
            block: Block | None = None
            for start in range(0, end_of_full, block_size):
                block = allocator.full_block(block, tokens[start : start + block_size])
                blocks.append(block)
            if end_of_full < len(tokens):
                block = allocator.allocate_mutable_block(block)
                block.write(tokens[end_of_full:])
                blocks.append(block)
        self._blocks.update(blocks)
        self._set_num_full_slots(len(tokens))

    def append_token_ids(
        self,
        token_ids: Sequence[int],
        num_lookahead_slots: int = 0,
        num_computed_slots: int | None = None,
    ) -> None:
        """Write tokens behind those the table holds, and reserve some slots for the next ones.

        ``num_computed_slots`` tells a table with a sliding window how many tokens are done with.
        NoFreeBlocksError if a new block, or the copy of a shared one, finds no room.
        """
        check_int("num_lookahead_slots", num_lookahead_slots, 0)
        tokens = check_token_ids("token_ids", token_ids)
        if self._max_block_sliding_window is None:
            self.append_checked(tokens, num_lookahead_slots)
        else:
            self.append_within_window(tokens, num_lookahead_slots, num_computed_slots)

    def append_checked(self, tokens: list[int], num_lookahead_slots: int) -> None:
        """:meth:`append_token_ids` for tokens that were checked, in a table without a window."""
        full, block_size, blocks = self.num_full_slots, self._block_size, self._blocks
        room = block_size - full % block_size - num_lookahead_slots
        if 0 < len(tokens) <= room:
            # All goes into one block, the partial last one or the next: nothing can fail but
            # taking an id for it, and that comes before any change of this call.
            index = full // block_size
            if index == len(blocks.ids):
                self._check_allocated()
                blocks.append(self._gpu.allocate_mutable_block(blocks.blocks[-1]))
            block = blocks.blocks[index]
            if self._undo.active:
                block.keep(self._undo)
                self._undo.note(self._unwrite, index, blocks.ids[index], full)
            block.write(tokens)
            blocks.ids[index] = block.block_id  # type: ignore[assignment]
            self.num_full_slots = full + len(tokens)
            return
        self._check_allocated()
        with self._undo:
            self._add_blocks(len(tokens) + num_lookahead_slots)
            self._write(tokens)

    def append_within_window(
        self, tokens: list[int], num_lookahead_slots: int, num_computed_slots: int | None
    ) -> None:
        """:meth:`append_token_ids` for tokens that were checked, in a table with a window."""
        self._check_allocated()
        if num_computed_slots is None:
            raise UsageError("num_computed_slots must be given: the table has a sliding window")
        check_int("num_computed_slots", num_computed_slots, 0)
        end = num_computed_slots // self._block_size - (self._max_block_sliding_window or 0)
        if end > self.num_full_slots // self._block_size:
            raise UsageError(
                f"num_computed_slots is {num_computed_slots}, and the table holds "
                f"{self.num_full_slots} tokens: the next one would be outside of its own window"
            )
        with self._undo:
            self._drop_blocks_before(end)
            self._add_blocks(len(tokens) + num_lookahead_slots)
            self._write(tokens)

    def ensure_num_empty_slots(self, num_empty_slots: int) -> None:
        """Add GPU blocks until at least ``num_empty_slots`` slots are empty; all or none."""
        check_int("num_empty_slots", num_empty_slots, 0)
        self._check_allocated()
        with self._undo:
            self._add_blocks(num_empty_slots)

    # -- sharing, moving, giving back ------------------------------------------------------------

    def fork(self) -> BlockTable:
        """A second table on the same blocks, which both share until one of them writes."""
        self._check_allocated()
        table = BlockTable(
            self._block_size,
            self._allocator,
            max_block_sliding_window=self._max_block_sliding_window,
        )
        table._blocks.update(self._allocator.fork_blocks(self._blocks.blocks))
        table._num_dropped_blocks = self._num_dropped_blocks
        table.num_full_slots = self.num_full_slots
        return table

    def update(self, blocks: Sequence[Block]) -> None:
        """Hold ``blocks`` instead, or read their ids again after a swap."""
        self._blocks.update(blocks)

    def free(self) -> None:
        """Give all blocks back, first to last; the table is empty then and may be used again."""
        self._check_allocated()
        blocks = self._blocks.blocks
        for index, block in enumerate(blocks):
            if block.block_id is None:
                raise UsageError(f"block {index} of the table was freed already: it has no id")
        for block in blocks:
            self._allocator.free(block)
        self._blocks.update(())
        self._set_num_full_slots(0)
        self._set_num_dropped_blocks(0)

    # -- steps of the above ----------------------------------------------------------------------

    def _check_allocated(self) -> None:
        if not self._blocks.blocks:
            raise UsageError("the table has no blocks: allocate it first")

    def _add_blocks(self, num_empty_slots: int) -> None:
        blocks = self._blocks
        missing = num_empty_slots - (len(blocks) * self._block_size - self.num_full_slots)
        for _ in range(cdiv(missing, self._block_size)):
            blocks.append(self._gpu.allocate_mutable_block(blocks.blocks[-1]))

    def _write(self, tokens: list[int]) -> None:
        """Write chunk by chunk, each into the block where it belongs."""
        block_size = self._block_size
        index, offset = divmod(self.num_full_slots, block_size)
        start, end = 0, block_size - offset
        while start < len(tokens):
            block = self._blocks.blocks[index]
            block.keep(self._undo)
            block.write(tokens[start:end])
            self._blocks.replace(index, block)
            index, start, end = index + 1, end, end + block_size
        self._set_num_full_slots(self.num_full_slots + len(tokens))

    def _unwrite(self, index: int, block_id: int, num_full_slots: int) -> None:
        self._blocks.ids[index] = block_id
        self.num_full_slots = num_full_slots

    def _drop_blocks_before(self, end: int) -> None:
        """Put the null block in the place of blocks that no later token looks back to."""
        null_block = self._allocator.allocate_or_get_null_block()
        for index in range(self._num_dropped_blocks, end):
            self._allocator.free(self._blocks.blocks[index])
            self._blocks.replace(index, null_block)
        self._set_num_dropped_blocks(max(end, self._num_dropped_blocks))

    def _set_num_full_slots(self, num_full_slots: int) -> None:
        if self._undo.active:
            self._undo.note(setattr, self, "num_full_slots", self.num_full_slots)
        self.num_full_slots = num_full_slots

    def _set_num_dropped_blocks(self, num_dropped_blocks: int) -> None:
        if self._undo.active:
            self._undo.note(setattr, self, "_num_dropped_blocks", self._num_dropped_blocks)
        self._num_dropped_blocks = num_dropped_blocks
