"""The allocator with prefix caching: full blocks are found again by their content.

An id is in exactly one place: free, in use, or waiting in the evictor with its content still
cached. Free ids are taken first; only then does the evictor give one up.

Source: vLLM 0.6.4.post1, ``vllm/core/block/prefix_caching_block.py``; handles are in content.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from pagesim.checks import check_time
from pagesim.errors import UsageError
from pagesim.journal import Journal, Kept, event
from pagesim.journal.effects import BACK, CACHE, COMPUTED, EVICT, FREE, HIT, TAKE, WRITE
from pagesim.v0.block.common import block_id_of
from pagesim.v0.block.content import NEVER_ACCESSED, BlockContent, PrefixCachingBlock
from pagesim.v0.block.interfaces import Block
from pagesim.v0.block.naive_block import NaiveBlockAllocator
from pagesim.v0.evictor import IndexedLRUEvictor


@dataclass(slots=True)
class BlockTracker:
    """What is known about a block in use: whether it is computed, and when it was last used."""

    computed: bool
    last_accessed: float = NEVER_ACCESSED


class PrefixCachingBlockAllocator(NaiveBlockAllocator):
    """A naive allocator that remembers contents: if content recurs, its full block is reused.

    vLLM's allocator contains a naive one for the blocks without a hash; this one extends it.
    """

    block_class = PrefixCachingBlock

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        block_ids: Iterable[int] | None = None,
        *,
        journal: Journal | None = None,
        pool: str = "GPU",
    ) -> None:
        super().__init__(num_blocks, block_size, block_ids, journal=journal, pool=pool)
        self.evictor = IndexedLRUEvictor()
        self._evictor_list = f"{pool} evictor"
        self._cached_blocks: dict[BlockContent, int] = {}
        self._content_at: dict[int, BlockContent] = {}
        self._touched_blocks: Kept[int, None] = Kept(self.journal)
        self._block_tracker: Kept[int, BlockTracker] = Kept(self.journal)
        self._metric = 0, 0
        """Lookups, and those of them that found a block."""

    # -- allocating ------------------------------------------------------------------------------

    def _allocate_immutable_block(
        self, prev_block: Block | None, token_ids: Sequence[int]
    ) -> Block:
        """A cached block that holds ``token_ids`` after ``prev_block``, or else a new one.

        UsageError unless the block and its predecessors are full.
        """
        block = PrefixCachingBlock(prev_block, (), self.block_size, self)
        block.token_ids = token_ids  # type: ignore[assignment]
        if block.content is None:
            raise UsageError(
                f"an immutable block holds {self.block_size} tokens and follows full blocks: "
                f"these {len(block.token_ids)} tokens cannot be such a block"
            )
        self._allocate_full_block(block, block.content, self.block_size)
        return block

    def _allocate_full_block(
        self, block: PrefixCachingBlock, content: BlockContent, num_written: int
    ) -> None:
        """Find a cached block for a full handle, or take a new one and cache it."""
        cached_id = self._cached_blocks.get(content)
        if cached_id is None:
            block.block_id = self._allocate_block_id()
            if num_written:
                self.journal.note((WRITE, block.block_id, num_written))
            self._cache_block(content, block.block_id)
        else:
            self._incr_refcount_cached_block(block, cached_id, num_written)
        lookups, hits = self._metric
        self.journal.was(self, "_metric")
        self._metric = lookups + 1, hits + (cached_id is not None)

    def _allocate_block_id(self) -> int:
        """A free id, or else one whose content is evicted."""
        free = super().get_num_free_blocks()
        block_id = None if free else self._maybe_allocate_evicted_block_id()
        if block_id is None:
            block_id = super()._allocate_block_id()
        self._block_tracker[block_id] = BlockTracker(computed=False)
        return block_id

    def _maybe_allocate_evicted_block_id(self) -> int | None:
        if not self.evictor.num_blocks:
            return None
        block_id = self.evictor.candidate()
        self._remove_from_evictor(block_id)
        self._forget(block_id)
        self._refcounter.incr(block_id)
        self.journal.note((EVICT, block_id))
        self.journal.note((TAKE, block_id, self._evictor_list))
        return block_id

    def _incr_refcount_cached_block(
        self, block: PrefixCachingBlock, cached_id: int, num_written: int
    ) -> None:
        """Point a handle at a cached block, which leaves the evictor if it is there."""
        if self._refcounter.incr(cached_id) == 1:
            self._remove_from_evictor(cached_id)
            self._block_tracker[cached_id] = BlockTracker(computed=True)
        self.journal.note((HIT, cached_id, num_written))
        self.journal.was(block, "block_id", "_content", "computed")
        block.block_id, block.computed = cached_id, True
        block._content = self._content_at[cached_id]  # the cache's own

    # -- caching ---------------------------------------------------------------------------------

    @event()
    def promote_to_immutable_block(self, block: Any) -> int:
        """Cache a block that has become full; returns its id.

        If the content was already cached, the handle gets that block, and its own is freed.
        """
        block_id, content = block_id_of(block), block.content
        self._refcounter.owned(block_id)
        if content is None:
            raise UsageError(f"block {block_id} is not full: it cannot be found by its content")
        cached_id = self._cached_blocks.get(content)
        if cached_id is None:
            self._cache_block(content, block_id)
        elif cached_id != block_id:
            self._free_block_id(block)
            self._incr_refcount_cached_block(block, cached_id, 0)
        return block.block_id  # type: ignore[no-any-return]

    def _cache_block(self, content: BlockContent, block_id: int) -> None:
        self._cached_blocks[content], self._content_at[block_id] = block_id, content
        self.journal.note((CACHE, block_id), self._forget, block_id)
        self._touched_blocks[block_id] = None

    def _forget(self, block_id: int) -> None:
        content = self._content_at.pop(block_id)
        del self._cached_blocks[content]
        self.journal.undo(self._content_at.__setitem__, block_id, content)
        self.journal.undo(self._cached_blocks.__setitem__, content, block_id)

    # -- freeing ---------------------------------------------------------------------------------

    def _free_block_id(self, block: Block) -> None:
        block_id = block_id_of(block)
        if block_id in self._content_at:
            self._decr_refcount_cached_block(block, block_id)
        else:
            super()._free_block_id(block)
            if not self._refcounter.get(block_id):
                del self._block_tracker[block_id]

    def _decr_refcount_cached_block(self, block: Block, block_id: int) -> None:
        """A block without owners goes to the end of the evictor, with its content."""
        if self._let_go(block, block_id):
            return
        content, tracker = self._content_at[block_id], self._block_tracker.pop(block_id)
        self.evictor.add(block_id, content.hash, content.num_tokens, tracker.last_accessed)
        row = (FREE, block_id, self._evictor_list, BACK)
        self.journal.note(row, self.evictor.remove, block_id)
        if not tracker.computed:
            self.journal.note((COMPUTED, block_id))  # as vLLM assumes

    def _remove_from_evictor(self, block_id: int) -> None:
        entry = self.evictor.remove(block_id)
        self.journal.undo(self.evictor.put_back, block_id, entry)

    # -- swapping --------------------------------------------------------------------------------

    def _allocate_swapped_block(self, block: Any) -> None:
        """Look a full block up first: handles that shared a block share one again."""
        if block.content is None:
            super()._allocate_swapped_block(block)
        else:
            self._allocate_full_block(block, block.content, 0)

    def get_num_full_blocks_touched(self, blocks: Sequence[Any]) -> int:
        """Return how many of ``blocks`` would need a block of this pool if they were swapped to it.

        These are full blocks whose content is not cached here, or waits in the evictor.
        """
        touched = 0
        for block in blocks:
            if block.is_full:
                cached_id = self._cached_blocks.get(block.content)
                touched += cached_id is None or cached_id in self.evictor
        return touched

    def _fork_block(self, prev_block: Block | None, block: Any) -> Any:
        forked = super()._fork_block(prev_block, block)
        forked._content = block._content
        return forked

    # -- when blocks were used, and whether they are computed -------------------------------------

    def mark_blocks_as_accessed(self, block_ids: Sequence[int], now: float) -> None:
        """Set the time of last use of ``block_ids`` to ``now``.

        UsageError, and nothing is set, if one of them is neither in use nor in the evictor.
        """
        check_time("now", now)
        for block_id in block_ids:
            if not self.get_ref_count(block_id) and block_id not in self.evictor:
                raise UsageError(f"block {block_id} is free: it cannot have been accessed")
        for block_id in block_ids:
            tracker = self._block_tracker.get(block_id)
            known = tracker or self.evictor.free_table[block_id]
            self.journal.was(known, "last_accessed")
            known.last_accessed = now
            if tracker is None:
                self.evictor.update(block_id, now)

    def get_last_accessed(self, block_id: int) -> float:
        """Return when a block was last used; -1 if it has not been used since it was taken."""
        if self.get_ref_count(block_id):
            return self._block_tracker[block_id].last_accessed
        entry = self.evictor.free_table.get(block_id)
        return NEVER_ACCESSED if entry is None else entry.last_accessed

    def mark_blocks_as_computed(self, block_ids: Sequence[int]) -> None:
        """Mark the blocks cached since the last call as computed.

        As in vLLM, the argument is ignored.
        """
        if self._touched_blocks:
            self._mark_touched_blocks()

    @event(kind="mark_blocks_as_computed")
    def _mark_touched_blocks(self) -> None:
        for block_id in sorted(self._touched_blocks):
            del self._touched_blocks[block_id]
            tracker = self._block_tracker.get(block_id)
            if tracker is not None and not tracker.computed:
                tracker.computed = True
                self.journal.note((COMPUTED, block_id), setattr, tracker, "computed", False)

    def block_is_computed(self, block_id: int) -> bool:
        """Whether the block's keys and values exist, as they do for every block in the evictor."""
        if self.get_ref_count(block_id):
            return self._block_tracker[block_id].computed
        return block_id in self.evictor

    def get_computed_block_ids(
        self,
        prev_computed_block_ids: list[int],
        block_ids: Sequence[int],
        skip_last_block_id: bool = True,
    ) -> list[int]:
        """Extend ``prev_computed_block_ids`` in place by the other computed blocks, and return it.

        ``block_ids`` is a whole table, of which the first ``len(prev_computed_block_ids)`` blocks
        are known to be computed. As in vLLM, a gap does not end the search: computed blocks after
        an uncomputed one count as well.
        """
        end = len(block_ids) - bool(skip_last_block_id)
        start = len(prev_computed_block_ids)
        if start > end:
            raise UsageError(f"{start} computed blocks are more than the {max(end, 0)} asked about")
        found = [i for i in block_ids[start:end] if self.block_is_computed(i)]
        prev_computed_block_ids += found
        return prev_computed_block_ids

    def get_common_computed_block_ids(
        self, computed_seq_block_ids: Sequence[Sequence[int]]
    ) -> list[int]:
        """Return the longest common prefix of the non-empty lists."""
        columns = zip(*filter(None, computed_seq_block_ids), strict=False)
        return [ids[0] for ids in takewhile(lambda ids: len(set(ids)) == 1, columns)]

    # -- state -----------------------------------------------------------------------------------

    def get_num_free_blocks(self) -> int:
        """Return the number of blocks that could be taken now, free or evictable."""
        return super().get_num_free_blocks() + len(self.evictor.free_table)

    @property
    def cached_block_ids(self) -> frozenset[int]:
        """The blocks that a lookup can find, in use or waiting in the evictor."""
        return frozenset(self._content_at)

    @property
    def computed_block_ids(self) -> frozenset[int]:
        """The blocks whose keys and values are known to exist."""
        known = (*self._block_tracker, *self.evictor.free_table)
        return frozenset(block_id for block_id in known if self.block_is_computed(block_id))

    def is_block_cached(self, block: PrefixCachingBlock) -> bool:
        """Whether the content of ``block`` is cached in this pool, under its own id or another."""
        return block.content in self._cached_blocks

    def get_prefix_cache_hit_rate(self) -> float:
        """Return hits ÷ lookups, or 0 before the first lookup."""
        lookups, hits = self._metric
        return hits / lookups if lookups else 0.0
