"""What happens to block tables: begun, written, grown, forked, given back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pagesim.checks import check_token_ids
from pagesim.effects import (
    NULL,
    WRITE,
)
from pagesim.timeline.hooks.registry import hook
from pagesim.timeline.log import ROW
from pagesim.timeline.tap import TAPS, Tap
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.common import BlockList
from pagesim.v0.block.cpu_gpu_block_allocator import NullBlock
from pagesim.v0.block.interfaces import Device

# -- tables --------------------------------------------------------------------------------------


@hook(BlockList, "replace")
def _replace(plain: Any) -> Any:
    def replace(self: BlockList, index: int, block: Any) -> None:
        plain(self, index, block)
        tap = TAPS.get(self.undo)
        if tap is None or tap.writing is None:
            return
        if isinstance(block, NullBlock):
            tap.log.row(NULL, block.block_id, tap.writing.number, index)  # type: ignore[arg-type]
            return
        block_size = tap.log.start.block_size
        count = min(tap.end - tap.position, block_size - tap.position % block_size)
        tap.note_write(tap.first, tap.writing, block.block_id, tap.position, count)
        tap.first = len(tap.rows)
        tap.position += count

    return replace


@hook(BlockTable, "allocate")
def _allocate(plain: Any) -> Any:
    def allocate(self: BlockTable, token_ids: Any, device: Device = Device.GPU) -> None:
        tap = TAPS.get(self._undo)
        if tap is None or self.physical_block_ids:
            plain(self, token_ids, device)  # with blocks it raises: the table is allocated already
            return
        tokens = check_token_ids("token_ids", token_ids)
        life = tap.writing = tap.lives.get(self) or tap.begin(self, [])
        tap.write(life, 0, tokens)
        tap.position = 0
        plain(self, tokens, device)
        tap.writing = None
        ids = self.physical_block_ids
        if tap.position < len(tokens):
            first = len(tap.rows)
            tap.note_write(first, life, ids[-1], tap.position, len(tokens) - tap.position)
        tap.log.patch(life, 0, ids)

    return allocate


@hook(BlockTable, "append_token_ids")
def _append(plain: Any) -> Any:
    def append_token_ids(self: BlockTable, token_ids: Any, *args: Any, **kwargs: Any) -> None:
        tap = TAPS.get(self._undo)
        textual = isinstance(token_ids, str | bytes) or not isinstance(token_ids, Iterable)
        if tap is None or not self.physical_block_ids or textual:
            plain(self, token_ids, *args, **kwargs)
            return
        tokens = list(token_ids)
        if not set(map(type, tokens)) <= {int}:
            plain(self, tokens, *args, **kwargs)  # it raises, naming the one that is no token
        append_noted(tap, self, tokens, plain, self, tokens, *args, **kwargs)

    return append_token_ids


def append_noted(
    tap: Tap, table: BlockTable, tokens: list[int], call: Any, *args: Any, **kwargs: Any
) -> Any:
    """Let ``call`` append tokens to a table; BlockList.replace says when each chunk is written."""
    life, full = tap.lives.get(table) or tap.life_of(table), table.num_full_slots
    index = kept = full // table.block_size
    if table._max_block_sliding_window is not None:
        kept = min(table._num_dropped_blocks, index)
    tap.write(life, full, tokens)
    first = tap.first = len(tap.rows)
    tap.writing, tap.position, tap.end = life, full, full + len(tokens)
    result = call(*args, **kwargs)
    tap.writing = None
    block_ids = table.physical_block_ids
    if tap.position == full and tokens:  # all of it went into one block
        tap.note_write(first, life, block_ids[index], full, len(tokens))
    if len(tap.rows) > first + ROW or (len(tap.rows) > first and tap.rows[first] != WRITE):
        tap.log.patch(life, kept, block_ids[kept:])
    return result


@hook(BlockTable, "ensure_num_empty_slots")
def _ensure(plain: Any) -> Any:
    def ensure_num_empty_slots(self: BlockTable, num_empty_slots: int) -> None:
        tap = TAPS.get(self._undo)
        before = len(self.physical_block_ids)
        life = tap.life_of(self) if tap is not None and before else None
        plain(self, num_empty_slots)
        if tap is not None and life is not None and len(self.physical_block_ids) > before:
            tap.log.patch(life, before, self.physical_block_ids[before:])

    return ensure_num_empty_slots


@hook(BlockTable, "fork")
def _fork(plain: Any) -> Any:
    def fork(self: BlockTable) -> BlockTable:
        tap = TAPS.get(self._undo)
        if tap is None:
            return plain(self)  # type: ignore[no-any-return]
        tap.forked = None
        parent = tap.life_of(self) if self.physical_block_ids else None
        child: BlockTable = plain(self)
        tokens = parent.tokens[: self.num_full_slots].tolist() if parent else []
        tap.log.patch(tap.begin(child, tokens), 0, child.physical_block_ids)
        tap.forked = child
        return child

    return fork


@hook(BlockTable, "update")
def _update(plain: Any) -> Any:
    def update(self: BlockTable, blocks: Any) -> None:
        tap = TAPS.get(self._undo)
        life = tap.life_of(self) if tap is not None else None
        plain(self, blocks)
        if tap is not None and life is not None:
            tap.log.patch(life, 0, self.physical_block_ids)

    return update


@hook(BlockTable, "free")
def _free(plain: Any) -> Any:
    def free(self: BlockTable) -> None:
        tap = TAPS.get(self._undo)
        if tap is not None and self.physical_block_ids:
            tap.life_of(self)
        plain(self)
        if tap is not None:
            tap.finish(self)

    return free
