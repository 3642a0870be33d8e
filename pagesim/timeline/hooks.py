"""The methods of the block layer as they are while somebody records: they say what they do.

Nothing of this is in any code path otherwise: the first recorder puts these in the place of the
plain methods, and the last one puts the plain ones back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import Any

from pagesim.block.block_table import BlockTable
from pagesim.block.common import BlockIdPool, BlockList
from pagesim.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator, NullBlock
from pagesim.block.interfaces import Device
from pagesim.block.naive_block import NaiveBlockAllocator
from pagesim.block.pool_allocator import PoolAllocator
from pagesim.block.prefix_caching_block import PrefixCachingBlockAllocator
from pagesim.block_manager import SelfAttnBlockSpaceManager
from pagesim.checks import check_token_ids
from pagesim.timeline.effects import (
    COPY,
    EVICT,
    HIT,
    NULL,
    PROMOTE,
    RETURN,
    SHARE,
    SWAP_IN,
    SWAP_OUT,
    TAKE,
    UNSHARE,
    WRITE,
)
from pagesim.timeline.log import APPEND_SLOTS, ROW
from pagesim.timeline.tap import TAPS, Tap

ALLOCATORS = (CpuGpuBlockAllocator, PoolAllocator)

_plain: dict[tuple[type, str], Any] = {}
_hooks: dict[tuple[type, str], Callable[[Any], Any]] = {}


def install() -> None:
    """Put the recording methods in the place of the plain ones."""
    for (owner, name), hook in _hooks.items():
        plain = _plain[owner, name] = owner.__dict__[name]
        setattr(owner, name, functools.wraps(plain)(hook(plain)))


def uninstall() -> None:
    """Put the plain methods back."""
    for (owner, name), plain in _plain.items():
        setattr(owner, name, plain)
    _plain.clear()


def _hook(owner: type, *names: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register ``hook(plain) -> recording method`` for methods of a class."""

    def register(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for name in names:
            _hooks[owner, name] = hook
        return hook

    return register


# -- every public call is an event ---------------------------------------------------------------


def _event(owner: type, name: str, subject: Callable[..., Any]) -> None:
    """Make the outermost call of a method an event; ``subject(tap, self, *args)`` names it."""
    inner = _hooks.get((owner, name))
    is_manager = owner is SelfAttnBlockSpaceManager
    undo_of = attrgetter("undo" if issubclass(owner, ALLOCATORS) else "_undo")

    def hook(plain: Any) -> Any:
        call = inner(plain) if inner else plain

        def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
            tap = TAPS.get(undo_of(self))
            if tap is None or tap.open:
                return call(self, *args, **kwargs)
            if is_manager and self not in tap.managers:
                tap.meet(self)
            given = (*args, *kwargs.values())
            return tap.run(name, lambda: subject(tap, self, *given), call, self, *args, **kwargs)

        def recorded_free(self: Any, block: Any) -> Any:  # the same, once for each block
            tap = TAPS.get(undo_of(self))
            if tap is None or tap.open:
                return call(self, block)
            return tap.run(name, lambda: None, call, self, block)

        if name == "free" and issubclass(owner, ALLOCATORS):
            return recorded_free
        return recorded

    _hooks[owner, name] = hook


def _nobody(tap: Tap, *_: Any) -> None:
    return None


# -- ids: taken, shared, returned ----------------------------------------------------------------


@_hook(BlockIdPool, "take")
def _take(plain: Any) -> Any:
    def take(self: BlockIdPool) -> int:
        block_id: int = plain(self)
        if (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(TAKE, block_id)
        return block_id

    return take


@_hook(BlockIdPool, "share")
def _share(plain: Any) -> Any:
    def share(self: BlockIdPool, block_id: int) -> int:
        count: int = plain(self, block_id)
        if count > 1 and (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(SHARE, block_id)
        return count  # a first owner comes by _evict or _reuse, which note it in their own words

    return share


@_hook(BlockIdPool, "release", "drop_owner")
def _release(plain: Any) -> Any:
    def release(self: BlockIdPool, block_id: int) -> int:
        count: int = plain(self, block_id)
        if (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(UNSHARE if count else RETURN, block_id)
        return count

    return release


@_hook(PoolAllocator, "cow_block_if_not_appendable")
def _copy_on_write(plain: Any) -> Any:
    def cow_block_if_not_appendable(self: PoolAllocator, block: Any) -> int:
        tap = TAPS.get(self.undo)
        source = getattr(block, "block_id", None)
        owners = self.ref_counts.get(source, 0)  # type: ignore[arg-type]
        target: int = plain(self, block)
        if tap is not None and source is not None and target != source:
            tap.log.row(COPY, source, target, owners)
        return target

    return cow_block_if_not_appendable


# -- contents: cached, found, evicted ------------------------------------------------------------


@_hook(PrefixCachingBlockAllocator, "_register")
def _promote(plain: Any) -> Any:
    def _register(self: PrefixCachingBlockAllocator, content: Any, block_id: int) -> None:
        plain(self, content, block_id)
        if (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(PROMOTE, block_id)

    return _register


@_hook(PrefixCachingBlockAllocator, "_reuse")
def _hit(plain: Any) -> Any:
    def _reuse(self: PrefixCachingBlockAllocator, block: Any, cached_id: int) -> None:
        tap = TAPS.get(self.undo)
        first = len(tap.rows) if tap is not None else 0
        plain(self, block, cached_id)
        if tap is not None:
            del tap.rows[first:]  # what sharing said: a hit says it better
            tap.log.row(HIT, cached_id)

    return _reuse


@_hook(PrefixCachingBlockAllocator, "_evict")
def _evicted(plain: Any) -> Any:
    def _evict(self: PrefixCachingBlockAllocator) -> int:
        block_id: int = plain(self)
        if (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(EVICT, block_id)
            tap.log.row(TAKE, block_id)
        return block_id

    return _evict


@_hook(PoolAllocator, "full_block")
@_hook(PrefixCachingBlockAllocator, "full_block")
def _full_block(plain: Any) -> Any:
    def full_block(self: Any, prev_block: Any, tokens: list[int]) -> Any:
        tap = TAPS.get(self.undo)
        if tap is None:
            return plain(self, prev_block, tokens)
        rows, first = tap.rows, len(tap.rows)
        block = plain(self, prev_block, tokens)
        if rows[-ROW] == HIT:
            number = -1 if tap.writing is None else tap.writing.number
            rows[-3:] = number, tap.position, len(tokens)
        else:
            tap.note_write(first, tap.writing, block.block_id, tap.position, len(tokens))
        tap.position += len(tokens)
        return block

    return full_block


@_hook(PrefixCachingBlockAllocator, "mark_blocks_as_computed")
def _mark(plain: Any) -> Any:
    def mark_blocks_as_computed(self: PrefixCachingBlockAllocator, block_ids: Any) -> None:
        tap = TAPS.get(self.undo)
        if tap is None or tap.open or not self.touched_block_ids:
            plain(self, block_ids)  # as it is most often: nothing is there to be marked
        else:
            tap.run("mark_blocks_as_computed", lambda: None, plain, self, block_ids)

    return mark_blocks_as_computed


# -- tables --------------------------------------------------------------------------------------


@_hook(BlockList, "replace")
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


@_hook(BlockTable, "allocate")
def _allocate(plain: Any) -> Any:
    def allocate(self: BlockTable, token_ids: Any, device: Device = Device.GPU) -> None:
        tap = TAPS.get(self._undo)
        if tap is None or self.physical_block_ids:
            plain(self, token_ids, device)  # with blocks it raises: the table is allocated already
            return
        tokens = check_token_ids("token_ids", token_ids)
        life = tap.writing = tap.lives.get(self) or tap.begin(self, [])
        life.write(0, tokens)
        tap.position = 0
        plain(self, tokens, device)
        tap.writing = None
        ids = self.physical_block_ids
        if tap.position < len(tokens):
            first = len(tap.rows)
            tap.note_write(first, life, ids[-1], tap.position, len(tokens) - tap.position)
        tap.log.patch(life, 0, ids)

    return allocate


@_hook(BlockTable, "append_token_ids")
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
        _append_noted(tap, self, tokens, plain, self, tokens, *args, **kwargs)

    return append_token_ids


def _append_noted(
    tap: Tap, table: BlockTable, tokens: list[int], call: Any, *args: Any, **kwargs: Any
) -> Any:
    """Let ``call`` append tokens to a table; BlockList.replace says when each chunk is written."""
    life, full = tap.lives.get(table) or tap.life_of(table), table.num_full_slots
    index = kept = full // table.block_size
    if table._max_block_sliding_window is not None:
        kept = min(table._num_dropped_blocks, index)
    first = tap.first = len(tap.rows)
    life.write(full, tokens)
    tap.writing, tap.position, tap.end = life, full, full + len(tokens)
    result = call(*args, **kwargs)
    tap.writing = None
    block_ids = table.physical_block_ids
    if tap.position == full and tokens:  # all of it went into one block
        tap.note_write(first, life, block_ids[index], full, len(tokens))
    if len(tap.rows) > first + ROW or (len(tap.rows) > first and tap.rows[first] != WRITE):
        tap.log.patch(life, kept, block_ids[kept:])
    return result


@_hook(BlockTable, "ensure_num_empty_slots")
def _ensure(plain: Any) -> Any:
    def ensure_num_empty_slots(self: BlockTable, num_empty_slots: int) -> None:
        tap = TAPS.get(self._undo)
        before = len(self.physical_block_ids)
        life = tap.life_of(self) if tap is not None and before else None
        plain(self, num_empty_slots)
        if tap is not None and life is not None and len(self.physical_block_ids) > before:
            tap.log.patch(life, before, self.physical_block_ids[before:])

    return ensure_num_empty_slots


@_hook(BlockTable, "fork")
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


@_hook(BlockTable, "update")
def _update(plain: Any) -> Any:
    def update(self: BlockTable, blocks: Any) -> None:
        tap = TAPS.get(self._undo)
        life = tap.life_of(self) if tap is not None else None
        plain(self, blocks)
        if tap is not None and life is not None:
            tap.log.patch(life, 0, self.physical_block_ids)

    return update


@_hook(BlockTable, "free")
def _free(plain: Any) -> Any:
    def free(self: BlockTable) -> None:
        tap = TAPS.get(self._undo)
        if tap is not None and self.physical_block_ids:
            tap.life_of(self)
        plain(self)
        if tap is not None:
            tap.finish(self)

    return free


# -- both devices, and the manager ---------------------------------------------------------------


@_hook(CpuGpuBlockAllocator, "swap")
def _swap(plain: Any) -> Any:
    def swap(
        self: CpuGpuBlockAllocator, blocks: Any, src_device: Device, dst_device: Device
    ) -> dict[int, int]:
        mapping: dict[int, int] = plain(self, blocks, src_device, dst_device)
        if (tap := TAPS.get(self.undo)) is not None:
            kind = SWAP_OUT if src_device is Device.GPU else SWAP_IN
            for source, target in mapping.items():
                tap.log.row(kind, source, target)
        return mapping

    return swap


@_hook(CpuGpuBlockAllocator, "allocate_or_get_null_block")
def _null_block(plain: Any) -> Any:
    def allocate_or_get_null_block(self: CpuGpuBlockAllocator) -> NullBlock:
        is_new = self._null_block is None
        block: NullBlock = plain(self)
        if is_new and (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(NULL, block.block_id, -1, -1)  # type: ignore[arg-type]
        return block

    return allocate_or_get_null_block


@_hook(SelfAttnBlockSpaceManager, "_add_table")
def _add_table(plain: Any) -> Any:
    def add_table(self: SelfAttnBlockSpaceManager, seq: Any, table: BlockTable) -> None:
        plain(self, seq, table)
        if (tap := TAPS.get(self._undo)) is not None:
            tap.call_sequence(table, seq.seq_id)
            if table not in tap.lives:  # a sequence without tokens has a table without blocks
                tap.begin(table, [])

    return add_table


@_hook(SelfAttnBlockSpaceManager, "free")
def _manager_free(plain: Any) -> Any:
    def free(self: SelfAttnBlockSpaceManager, seq: Any) -> None:
        table = self.block_tables.get(seq.seq_id)
        plain(self, seq)
        if table is not None and (tap := TAPS.get(self._undo)) is not None:
            tap.finish(table)

    return free


@_hook(SelfAttnBlockSpaceManager, "append_slots")
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
        return tap.run("append_slots", subject, _append_noted, *args)

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
            written.fromlist(tokens[full:])
        except OverflowError:
            return slowly(tap, self, seq, num_lookahead_slots)  # it says which token
        rows = tap.rows
        first = len(rows)
        tap.open = True
        try:
            copies = plain(self, seq, num_lookahead_slots)
        except BaseException as error:
            tap.open = False
            tap.fail(first, "append_slots", partial(_seq, tap, self, seq), error)
            raise
        tap.open = False
        block_ids, index = table._blocks.ids, full // block_size
        if len(rows) == first:
            rows += (WRITE, block_ids[index], life.number, full, count)
        else:
            tap.note_write(first, life, block_ids[index], full, count)
            if len(rows) > first + ROW:
                tap.log.patch(life, index, block_ids[index:])
        subject = tap.subjects.get(seq.seq_id)
        if subject is None:
            subject = tap.log.subject_code(seq.seq_id)
        tap.log.event(APPEND_SLOTS, subject)
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
    _event(SelfAttnBlockSpaceManager, _method, _subject)
for _method in ("allocate", "append_token_ids", "ensure_num_empty_slots", "update", "free"):
    _event(BlockTable, _method, _table)
_event(BlockTable, "fork", _forked_table)
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
        _event(_owner, _method, _nobody)
