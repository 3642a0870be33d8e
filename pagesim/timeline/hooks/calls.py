"""Swaps and the manager; and which public calls are events. Comes after the other hooks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pagesim.effects import (
    MOVE,
    NULL,
    TOKENS,
    WRITE,
)
from pagesim.timeline.hooks import pools as _pools  # noqa: F401 (events wrap its hooks)
from pagesim.timeline.hooks.registry import event, hook, nobody
from pagesim.timeline.hooks.tables import append_noted
from pagesim.timeline.log import APPEND_SLOTS, ROW
from pagesim.timeline.tap import TAPS, Tap
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator, NullBlock
from pagesim.v0.block.interfaces import Device
from pagesim.v0.block.naive_block import NaiveBlockAllocator
from pagesim.v0.block.pool_allocator import PoolAllocator
from pagesim.v0.block.prefix_caching_block import PrefixCachingBlockAllocator
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager

# -- both devices, and the manager ---------------------------------------------------------------


@hook(CpuGpuBlockAllocator, "swap")
def _swap(plain: Any) -> Any:
    def swap(
        self: CpuGpuBlockAllocator, blocks: Any, src_device: Device, dst_device: Device
    ) -> dict[int, int]:
        mapping: dict[int, int] = plain(self, blocks, src_device, dst_device)
        if (tap := TAPS.get(self.undo)) is not None:
            for source, target in mapping.items():
                tap.log.row(MOVE, source, target)
        return mapping

    return swap


@hook(CpuGpuBlockAllocator, "allocate_or_get_null_block")
def _null_block(plain: Any) -> Any:
    def allocate_or_get_null_block(self: CpuGpuBlockAllocator) -> NullBlock:
        is_new = self._null_block is None
        block: NullBlock = plain(self)
        if is_new and (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(NULL, block.block_id, -1, -1)  # type: ignore[arg-type]
        return block

    return allocate_or_get_null_block


@hook(SelfAttnBlockSpaceManager, "_add_table")
def _add_table(plain: Any) -> Any:
    def add_table(self: SelfAttnBlockSpaceManager, seq: Any, table: BlockTable) -> None:
        plain(self, seq, table)
        if (tap := TAPS.get(self._undo)) is not None:
            tap.call_sequence(table, seq.seq_id)
            if table not in tap.lives:  # a sequence without tokens has a table without blocks
                tap.begin(table, [])

    return add_table


@hook(SelfAttnBlockSpaceManager, "free")
def _manager_free(plain: Any) -> Any:
    def free(self: SelfAttnBlockSpaceManager, seq: Any) -> None:
        table, tap = self.block_tables.get(seq.seq_id), TAPS.get(self._undo)
        if tap is not None and tap.freeing is not None:
            tap.freeing(seq.seq_id)
        plain(self, seq)
        if table is not None and tap is not None:
            tap.finish(table)

    return free


@hook(SelfAttnBlockSpaceManager, "append_slots")
def _append_slots(plain: Any) -> Any:
    """The call of every token. What happens most often, one write into the last block, is short."""

    def slowly(tap: Tap, self: Any, seq: Any, num_lookahead_slots: int) -> Any:
        if self not in tap.managers:
            tap.meet(self)
        table, subject = self.block_tables.get(seq.seq_id), partial(_seq, tap, self, seq)
        if table is None or not table.physical_block_ids:
            return tap.run("append_slots", subject, plain, self, seq, num_lookahead_slots)
        unseen = table.get_unseen_token_ids(seq.data.token_ids)
        args = tap, table, unseen, plain, self, seq, num_lookahead_slots
        return tap.run("append_slots", subject, append_noted, *args)

    def append_slots(self: Any, seq: Any, num_lookahead_slots: int) -> Any:
        tap = TAPS.get(self._undo)
        if tap is None or tap.open:
            return plain(self, seq, num_lookahead_slots)
        table = self.block_tables.get(seq.seq_id)
        life = tap.lives.get(table)
        if life is None or self.max_block_sliding_window is not None:
            return slowly(tap, self, seq, num_lookahead_slots)
        tokens, full, block_size = seq.data.token_ids, table.num_full_slots, self.block_size
        count, offset, written = len(tokens) - full, full % block_size, life.tokens
        if not (offset and 0 < count <= block_size - offset and len(written) == full):
            return slowly(tap, self, seq, num_lookahead_slots)
        try:
            if count == 1:
                written.append(tokens[-1])
            else:
                written.fromlist(tokens[full:])
        except OverflowError:
            return slowly(tap, self, seq, num_lookahead_slots)  # it says which token
        rows = tap.rows
        begin = len(rows)
        rows += (TOKENS, -1, life.number, full, count)
        first = len(rows)
        tap.open = True
        try:
            copies = plain(self, seq, num_lookahead_slots)
        except BaseException as error:
            tap.open = False
            tap.fail(begin, "append_slots", partial(_seq, tap, self, seq), error)
            raise
        tap.open = False
        block_ids, index = table._blocks.ids, full // block_size
        if len(rows) == first:
            rows += (WRITE, block_ids[index], life.number, full, count)
        else:
            tap.note_write(first, life, block_ids[index], full, count)
            if len(rows) > first + ROW:
                tap.log.patch(life, index, block_ids[index:])
        if life.subject < 0:
            life.subject = tap.log.subject_code(seq.seq_id)
        tap.log.event(APPEND_SLOTS, life.subject)
        return copies

    return append_slots


def _seq(tap: Tap, manager: Any, seq: Any, *_: Any) -> Any:
    return seq.seq_id


def _child(tap: Tap, manager: Any, parent: Any, child: Any) -> Any:
    return child.seq_id


def _group(tap: Tap, manager: Any, group: Any, *_: Any) -> Any:
    return group.first_seq.seq_id


def _table(tap: Tap, table: BlockTable, *_: Any) -> Any:
    return tap.name(table)


def _forked_table(tap: Tap, table: BlockTable) -> Any:
    return tap.name(tap.forked or table)


_MANAGER: dict[str, Callable[..., Any]] = {
    "allocate": _group,
    "fork": _child,
    "free": _seq,
    "swap_in": _group,
    "swap_out": _group,
}
for _method, _subject in _MANAGER.items():
    event(SelfAttnBlockSpaceManager, _method, _subject)
for _method in ("allocate", "append_token_ids", "ensure_num_empty_slots", "update", "free"):
    event(BlockTable, _method, _table)
event(BlockTable, "fork", _forked_table)
for _owner, _methods in {
    CpuGpuBlockAllocator: (
        "allocate_mutable_block",
        "allocate_immutable_block",
        "allocate_immutable_blocks",
        "allocate_or_get_null_block",
        "free",
        "fork",
        "fork_blocks",
        "swap",
        "cow_block_if_not_appendable",
        "promote_to_immutable_block",
    ),
    PoolAllocator: (
        "allocate_mutable_block",
        "allocate_immutable_block",
        "allocate_immutable_blocks",
        "full_block",
        "free",
        "fork",
        "fork_blocks",
        "cow_block_if_not_appendable",
        "swap_out",
    ),
    NaiveBlockAllocator: ("swap_in",),
    PrefixCachingBlockAllocator: (
        "full_block",
        "swap_in",
        "promote_to_immutable_block",
    ),
}.items():
    for _method in _methods:
        event(_owner, _method, nobody)
