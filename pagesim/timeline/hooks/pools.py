"""What happens to ids and contents: taken, shared, returned, copied; cached, found, evicted."""

from __future__ import annotations

from typing import Any

from pagesim.effects import (
    BACK,
    CACHE,
    COMPUTED,
    COPY,
    EVICT,
    FREE,
    FRONT,
    HIT,
    SHARE,
    TAKE,
    UNSHARE,
)
from pagesim.timeline.hooks.registry import hook
from pagesim.timeline.log import ROW
from pagesim.timeline.tap import TAPS, Tap
from pagesim.v0.block.common import BlockIdPool
from pagesim.v0.block.pool_allocator import PoolAllocator
from pagesim.v0.block.prefix_caching_block import PrefixCachingBlockAllocator

# -- ids: taken, shared, returned ----------------------------------------------------------------


@hook(BlockIdPool, "take")
def _take(plain: Any) -> Any:
    def take(self: BlockIdPool) -> int:
        block_id: int = plain(self)
        if (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(TAKE, block_id, tap.list_of(block_id, "free list"))
        return block_id

    return take


@hook(BlockIdPool, "share")
def _share(plain: Any) -> Any:
    def share(self: BlockIdPool, block_id: int) -> int:
        count: int = plain(self, block_id)
        if count > 1 and (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(SHARE, block_id)
        return count  # a first owner comes by _evict or _reuse, which note it in their own words

    return share


@hook(BlockIdPool, "release")
def _release(plain: Any) -> Any:
    def release(self: BlockIdPool, block_id: int) -> int:
        count: int = plain(self, block_id)
        if (tap := TAPS.get(self.undo)) is not None:
            _give_up(tap, block_id, count, "free list", FRONT)
        return count

    return release


@hook(BlockIdPool, "drop_owner")
def _drop_owner(plain: Any) -> Any:
    def drop_owner(self: BlockIdPool, block_id: int) -> int:
        count: int = plain(self, block_id)
        if (tap := TAPS.get(self.undo)) is not None:
            _give_up(tap, block_id, count, "evictor", BACK)
        return count

    return drop_owner


def _give_up(tap: Tap, block_id: int, count: int, what: str, place: int) -> None:
    if count:
        tap.log.row(UNSHARE, block_id)
    else:
        tap.log.row(FREE, block_id, tap.list_of(block_id, what), place)


@hook(PrefixCachingBlockAllocator, "_give_up")
def _computed(plain: Any) -> Any:
    def give_up(self: PrefixCachingBlockAllocator, block: Any, block_id: int) -> None:
        plain(self, block, block_id)
        waits = block_id in self.evictor and not self._computed[block_id]
        if waits and (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(COMPUTED, block_id)  # what waits in the evictor counts as computed

    return give_up


@hook(PoolAllocator, "cow_block_if_not_appendable")
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


@hook(PrefixCachingBlockAllocator, "_register")
def _promote(plain: Any) -> Any:
    def _register(self: PrefixCachingBlockAllocator, content: Any, block_id: int) -> None:
        plain(self, content, block_id)
        if (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(CACHE, block_id)

    return _register


@hook(PrefixCachingBlockAllocator, "_reuse")
def _hit(plain: Any) -> Any:
    def _reuse(self: PrefixCachingBlockAllocator, block: Any, cached_id: int) -> None:
        tap = TAPS.get(self.undo)
        first = len(tap.rows) if tap is not None else 0
        plain(self, block, cached_id)
        if tap is not None:
            del tap.rows[first:]  # what sharing said: a hit says it better
            tap.log.row(HIT, cached_id)

    return _reuse


@hook(PrefixCachingBlockAllocator, "_evict")
def _evicted(plain: Any) -> Any:
    def _evict(self: PrefixCachingBlockAllocator) -> int:
        block_id: int = plain(self)
        if (tap := TAPS.get(self.undo)) is not None:
            tap.log.row(EVICT, block_id)
            tap.log.row(TAKE, block_id, tap.list_of(block_id, "evictor"))
        return block_id

    return _evict


@hook(PoolAllocator, "full_block")
@hook(PrefixCachingBlockAllocator, "full_block")
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


@hook(PrefixCachingBlockAllocator, "mark_blocks_as_computed")
def _mark(plain: Any) -> Any:
    def mark_blocks_as_computed(self: PrefixCachingBlockAllocator, block_ids: Any) -> None:
        tap = TAPS.get(self.undo)
        if tap is None or tap.open or not self.touched_block_ids:
            plain(self, block_ids)  # as it is most often: nothing is there to be marked
        else:
            for block_id in sorted(self.touched_block_ids):
                tap.log.row(COMPUTED, block_id)
            tap.run("mark_blocks_as_computed", lambda: None, plain, self, block_ids)

    return mark_blocks_as_computed
