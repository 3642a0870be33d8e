"""One sequence's block table: which physical block holds which part of its tokens.

Token ``i`` lives in block ``physical_block_ids[i // block_size]``, slot ``i % block_size``.

Source: vLLM 0.6.4.post1, ``vllm/core/block/block_table.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pagesim.checks import Natural, Positive, Tokens, check_int, checked
from pagesim.errors import UsageError
from pagesim.journal import event
from pagesim.journal.effects import NULL, OPEN, Row
from pagesim.v0.block.common import cdiv
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import Block, Device

table_event = event(of_table=True)
growth = event(of_table=True, atomic=True)


def _ids_of(blocks: list[Block]) -> list[int]:
    ids = [block.block_id for block in blocks]
    if None in ids:
        raise UsageError(f"block {ids.index(None)} of the table was freed: it has no id")
    return ids  # type: ignore[return-value]


class BlockTable:
    """The blocks of one sequence, first to last. Every call succeeds or changes nothing.

    ``max_block_sliding_window`` is the number of blocks a sliding window can reach; older ones are
    dropped when tokens are appended. ``_blocks`` lets a table be built on existing handles.
    """

    @checked
    def __init__(
        self,
        block_size: Positive,
        block_allocator: CpuGpuBlockAllocator,
        _blocks: Sequence[Block] | None = None,
        max_block_sliding_window: Positive | None = None,
    ) -> None:
        if not isinstance(block_allocator, CpuGpuBlockAllocator):
            raise TypeError(f"block_allocator must serve both devices, not be {block_allocator!r}")
        if block_size != (right := block_allocator.block_size):
            raise UsageError(f"block_size must be the allocator's {right}, not {block_size}")
        self.block_size = block_size
        """The number of slots in a block."""
        self._allocator = block_allocator
        self._gpu = block_allocator.allocator_on(Device.GPU)
        self.journal = block_allocator.journal
        self._num_window_blocks = max_block_sliding_window
        self._blocks: list[Block] = list(_blocks or ())
        self._ids = _ids_of(self._blocks)
        self._num_dropped_blocks = 0
        self.num_full_slots = sum(len(block.token_ids) for block in self._blocks)
        """How many tokens the table holds."""

    # -- state -----------------------------------------------------------------------------------

    @property
    def blocks(self) -> list[Block]:
        """The handles, first to last, as a new list."""
        return self._blocks.copy()

    @property
    def physical_block_ids(self) -> list[int]:
        """The ids, first to last. This is the table's own list: do not change it."""
        return self._ids

    @property
    def token_ids(self) -> list[int]:
        """The tokens, first to last; 0 for those that fell out of the sliding window."""
        kept = [token for block in self._blocks for token in block.token_ids]
        return [0] * (self.num_full_slots - len(kept)) + kept

    def get_unseen_token_ids(self, sequence_token_ids: list[int]) -> list[int]:
        """Return the tokens at the end of a sequence that the table does not yet hold."""
        return sequence_token_ids[self.num_full_slots :]

    @staticmethod
    @checked
    def get_num_required_blocks(
        token_ids: Sequence[int], block_size: Positive, num_lookahead_slots: Natural = 0
    ) -> int:
        """Return the number of blocks for ``token_ids`` and lookahead slots, without cache hits."""
        return cdiv(len(token_ids) + num_lookahead_slots, block_size)

    def get_num_blocks_touched_by_append_slots(
        self, token_ids: Sequence[int], num_lookahead_slots: int
    ) -> int:
        """Return the number of blocks that appending may write to; a partial last block counts."""
        check_int("num_lookahead_slots", num_lookahead_slots, 0)
        num_slots = self.num_full_slots + len(token_ids) + num_lookahead_slots
        return cdiv(num_slots, self.block_size) - self.num_full_slots // self.block_size

    # -- growing ---------------------------------------------------------------------------------

    @growth
    def allocate(self, token_ids: Tokens, device: Device = Device.GPU) -> None:
        """Allocate the blocks of a prompt: full ones are immutable, a partial one mutable.

        UsageError if the table already has blocks or there are no tokens; NoFreeBlocksError if
        ``device`` has too few blocks.
        """
        if self._blocks:
            raise UsageError(f"the table is already allocated: it holds {len(self._blocks)} blocks")
        if not token_ids:
            raise UsageError("token_ids is empty: a table is allocated for at least one token")
        allocator, block_size = self._allocator.allocator_on(device), self.block_size
        chunks = [token_ids[i : i + block_size] for i in range(0, len(token_ids), block_size)]
        partial = chunks.pop() if len(chunks[-1]) < block_size else None
        self.journal.append(self, 0, token_ids, setattr, self, "num_full_slots", 0)
        blocks: list[Block] = []
        block: Block | None = None
        for chunk in chunks:
            block = allocator._allocate_immutable_block(block, chunk)
            blocks.append(block)
        if partial is not None:
            blocks.append(allocator.allocate_mutable_block(block))
            blocks[-1].append_token_ids(partial)
        self.num_full_slots = len(token_ids)
        self.update(blocks)

    @growth
    def append_token_ids(
        self,
        token_ids: Tokens,
        num_lookahead_slots: Natural = 0,
        num_computed_slots: Natural | None = None,
    ) -> None:
        """Append tokens, and reserve lookahead slots for the next ones.

        ``num_computed_slots`` tells a table with a sliding window how many tokens are computed.
        NoFreeBlocksError if there is no room for a new block or the copy of a shared one.
        """
        self._append_token_ids(token_ids, num_lookahead_slots, num_computed_slots)

    def _append_token_ids(
        self, tokens: Sequence[int], num_lookahead_slots: int, num_computed_slots: int | None
    ) -> None:
        if len(tokens) == 1 and num_lookahead_slots == 0 and self._num_window_blocks is None:
            self._write(tokens)  # only taking a block can fail, and that comes first
            return
        if self._num_window_blocks is not None:
            self._drop_blocks(self._num_blocks_outside_window(num_computed_slots))
        self._add_blocks(len(tokens) + num_lookahead_slots)
        for chunk in self._chunk_token_blocks_for_append(tokens):
            self._write(chunk)

    def _chunk_token_blocks_for_append(self, tokens: Sequence[int]) -> list[Sequence[int]]:
        """The tokens that go into the partial last block, and those of each block after it."""
        room = self.block_size - self.num_full_slots % self.block_size
        starts = range(room, len(tokens), self.block_size)
        chunks = [tokens[:room], *(tokens[i : i + self.block_size] for i in starts)]
        return chunks if tokens else []

    def _write(self, tokens: Sequence[int]) -> None:
        """Write into the partial last block, or into the next one; all tokens fit there."""
        full, ids = self.num_full_slots, self._ids
        index = full // self.block_size
        if index == len(ids):
            self._add_blocks(1)
        block = self._blocks[index]
        if self.journal.active:  # once per token
            self.journal.append(self, full, tokens, setattr, self, "num_full_slots", full)
        block.append_token_ids(tokens)
        if block.block_id != ids[index]:
            self._replace(index, block)
            self.journal.patched(self, index, ids)
        self.num_full_slots = full + len(tokens)

    def _add_blocks(self, num_empty_slots: int) -> None:
        """Add GPU blocks until at least ``num_empty_slots`` slots are empty."""
        self._check_allocated()
        blocks, ids, before = self._blocks, self._ids, len(self._blocks)
        missing = num_empty_slots + self.num_full_slots - before * self.block_size
        if missing <= 0:
            return
        self.journal.was_at(slice(before, None), blocks, ids)
        for _ in range(cdiv(missing, self.block_size)):
            blocks.append(self._gpu.allocate_mutable_block(blocks[-1]))
            ids.append(blocks[-1].block_id)  # type: ignore[arg-type]
        self.journal.patched(self, before, ids)

    def _replace(self, index: int, block: Block) -> None:
        """Hold another block here, or read the id of the same one again."""
        self.journal.was_at(index, self._blocks, self._ids)
        self._blocks[index], self._ids[index] = block, block.block_id  # type: ignore[assignment]

    @growth
    def ensure_num_empty_slots(self, num_empty_slots: Natural) -> None:
        """Add GPU blocks until at least ``num_empty_slots`` slots are empty; all or none."""
        self._add_blocks(num_empty_slots)

    def _num_blocks_outside_window(self, num_computed_slots: int | None) -> int:
        """How many blocks at the front are outside the window of every later token."""
        if num_computed_slots is None:
            raise UsageError("num_computed_slots must be given: the table has a sliding window")
        end = num_computed_slots // self.block_size - (self._num_window_blocks or 0)
        if end > self.num_full_slots // self.block_size:
            raise UsageError(
                f"num_computed_slots is {num_computed_slots}, but the table holds "
                f"{self.num_full_slots} tokens: the next token would be outside its own window"
            )
        return end

    def _drop_blocks(self, end: int) -> None:
        """Replace the blocks before ``end`` with the null block."""
        null_block = self._allocator.allocate_or_get_null_block()
        before = self._num_dropped_blocks
        if end <= before:
            return
        for index in range(before, end):
            self._allocator.free(self._blocks[index])
            self._replace(index, null_block)
            self.journal.note((NULL, null_block.block_id, self, index))
        self.journal.was(self, "_num_dropped_blocks")
        self._num_dropped_blocks = end
        self.journal.patched(self, before, self._ids)

    # -- sharing, moving, freeing ----------------------------------------------------------------

    @event(lambda table, child: child or table, of_table=True)
    def fork(self) -> BlockTable:
        """Make a second table on the same blocks; both tables share them until one writes."""
        self._check_allocated()
        blocks = self._allocator.fork_blocks(self._blocks)
        table = BlockTable(self.block_size, self._allocator, blocks, self._num_window_blocks)
        table._num_dropped_blocks = self._num_dropped_blocks
        table.num_full_slots = self.num_full_slots
        self.journal.note((OPEN, table, None, self, self.num_full_slots, table._ids.copy()))
        return table

    @table_event
    def update(self, blocks: Sequence[Block]) -> None:
        """Replace the table's blocks; after a swap, this also updates their ids."""
        self._hold(blocks)
        self.journal.patched(self, 0, self._ids)

    def _hold(self, blocks: Iterable[Block]) -> None:
        held = list(blocks)
        ids = _ids_of(held)
        self.journal.was(self, "_blocks", "_ids", "num_full_slots", "_num_dropped_blocks")
        self._blocks, self._ids = held, ids

    @table_event
    def free(self) -> None:
        """Free all blocks, first to last; the table is then empty and may be used again."""
        self._check_allocated()
        _ids_of(self._blocks)
        self._allocator._free_blocks(self._blocks)
        self._hold(())
        self.num_full_slots = self._num_dropped_blocks = 0
        self.journal.closed(self)

    # -- helpers ---------------------------------------------------------------------------------

    def _check_allocated(self) -> None:
        if not self._blocks:
            raise UsageError("the table has no blocks: allocate it first")

    def opening(self) -> Row:
        """Describe the whole table to a recorder that has not seen it before."""
        return OPEN, self, None, self.token_ids, self.num_full_slots, self._ids.copy()
