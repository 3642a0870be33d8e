"""The allocator with prefix caching: full blocks are found again by what they hold.

An id is in exactly one place: free, in use, or waiting in the evictor with its content still
cached. Free ids are taken first; only then does the evictor give one up.

Source: vLLM 0.6.4.post1, ``vllm/core/block/prefix_caching_block.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pagesim.checks import check_time, check_token_ids
from pagesim.errors import UsageError
from pagesim.v0.block.content import BlockContent, hash_tokens
from pagesim.v0.block.interfaces import Block
from pagesim.v0.block.naive_block import NaiveBlock
from pagesim.v0.block.pool_allocator import PoolAllocator, check_homeless, owned_id
from pagesim.v0.block.undo import UndoLog
from pagesim.v0.evictor import LRUEvictor

NEVER_ACCESSED = -1.0


class PrefixCachingBlock(NaiveBlock):
    """A handle that knows its content: its own tokens and, through the chain, all before them."""

    __slots__ = ("_computed", "_content")

    def __init__(
        self,
        prev_block: Block | None,
        token_ids: Iterable[int],
        block_size: int,
        allocator: Any,
        block_id: int | None = None,
        computed: bool = False,
    ) -> None:
        super().__init__(prev_block, token_ids, block_size, allocator, block_id)
        self._content: BlockContent | None = None
        self._computed = computed

    @property
    def computed(self) -> bool:
        """Whether this handle was given a block whose content was cached already."""
        return self._computed

    @property
    def last_accessed(self) -> float:
        """When the block was used last, as its pool knows; -1 if never."""
        if self.block_id is None:
            return NEVER_ACCESSED
        return self.allocator.get_last_accessed(self.block_id)  # type: ignore[no-any-return]

    @property
    def content(self) -> BlockContent | None:
        """What the block is cached under; None unless it and all before it are full."""
        if self._content is None and self.is_full:
            self._find_content()
        return self._content

    @property
    def content_hash(self) -> int | None:
        """The hash of :attr:`content`, None without one. Opaque; the same in every process."""
        content = self.content
        return None if content is None else content.hash

    @property
    def num_tokens_total(self) -> int:
        """Tokens from the start of the sequence up to the end of this block."""
        content = self.content
        return super().num_tokens_total if content is None else content.num_tokens

    @staticmethod
    def hash_block_tokens(
        is_first_block: bool, prev_block_hash: int | None, cur_block_token_ids: Sequence[int]
    ) -> int:
        """The hash of a full block behind a prefix (no prefix: ``is_first_block``, hash None)."""
        if is_first_block != (prev_block_hash is None):
            raise UsageError(
                f"prev_block_hash must be None for the first block and only for it, "
                f"not {prev_block_hash!r} with is_first_block={is_first_block}"
            )
        if prev_block_hash is not None and type(prev_block_hash) is not int:
            raise TypeError(f"prev_block_hash must be an int or None, not {prev_block_hash!r}")
        tokens = check_token_ids("cur_block_token_ids", cur_block_token_ids)
        return hash_tokens(prev_block_hash, tuple(tokens))

    def append_token_ids(self, token_ids: Sequence[int]) -> None:
        """Write ``token_ids`` into the next empty slots; a block that becomes full is promoted.

        Errors as in :class:`NaiveBlock`; an empty list does nothing.
        """
        tokens = check_token_ids("token_ids", token_ids)
        if tokens:
            super().append_token_ids(tokens)

    def write(self, tokens: list[int]) -> None:
        """:meth:`append_token_ids` for tokens that were checked already."""
        block_id = self.block_id
        if block_id is not None and self.allocator.ref_counts[block_id] > 1:
            self.allocator.cow_block_if_not_appendable(self)
        self.token_ids += tokens
        if len(self.token_ids) == self.block_size and block_id is not None and self.content:
            self.allocator.promote_to_immutable_block(self)

    def twin(self, prev_block: Block | None) -> PrefixCachingBlock:
        """A second handle on the same id, with the same tokens, behind ``prev_block``."""
        twin = PrefixCachingBlock(prev_block, (), self.block_size, self.allocator, self.block_id)
        twin.token_ids = self.token_ids.copy()
        twin._content = self._content
        return twin

    def keep(self, undo: UndoLog) -> None:
        """Note in ``undo`` how to bring this handle back to what it is now."""
        super().keep(undo)
        undo.note(self._restore_cached, self._content, self._computed)

    def hit(self, content: BlockContent) -> None:
        """The block turned out to hold ``content``, which is cached already."""
        self._content = content
        self._computed = True

    def _restore_cached(self, content: BlockContent | None, computed: bool) -> None:
        self._content = content
        self._computed = computed

    def _find_content(self) -> None:
        """Fill in the contents of the full blocks up to this one, without recursion."""
        unknown: list[PrefixCachingBlock] = []
        block: Any = self
        while block is not None and block._content is None:
            unknown.append(block)
            block = block.prev_block
        content = None if block is None else block._content
        for block in reversed(unknown):
            if not block.is_full:
                return
            content = block._content = BlockContent(content, block.token_ids)


class PrefixCachingBlockAllocator(PoolAllocator):
    """The pool that remembers full blocks, and hands them out again for the same tokens."""

    block_class = PrefixCachingBlock

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        block_ids: Iterable[int] | None = None,
        *,
        undo: UndoLog | None = None,
    ) -> None:
        super().__init__(num_blocks, block_size, block_ids, undo=undo)
        self.evictor = LRUEvictor()
        self._cached_blocks: dict[BlockContent, int] = {}
        self._content_at: dict[int, BlockContent] = {}
        self._touched_blocks: set[int] = set()
        self._last_accessed: dict[int, float] = {}
        self._computed: dict[int, bool] = {}
        self._lookups = 0
        self._hits = 0

    # -- what there is ---------------------------------------------------------------------------

    def get_num_free_blocks(self) -> int:
        """How many blocks could be taken now: the free ones and those that can be evicted."""
        return super().get_num_free_blocks() + len(self.evictor.free_table)

    @property
    def cached_block_ids(self) -> frozenset[int]:
        """The blocks that a lookup can find, in use or waiting in the evictor."""
        return frozenset(self._content_at)

    @property
    def touched_block_ids(self) -> frozenset[int]:
        """The blocks that the next :meth:`mark_blocks_as_computed` will mark."""
        return frozenset(self._touched_blocks)

    def is_block_cached(self, block: Any) -> bool:
        """Whether the content of ``block`` is cached in this pool, here or at another id."""
        return block.content in self._cached_blocks

    def get_prefix_cache_hit_rate(self) -> float:
        """Hits ÷ lookups, 0 before the first lookup."""
        return self._hits / self._lookups if self._lookups else 0.0

    # -- taking and giving back ------------------------------------------------------------------

    def full_block(self, prev_block: Block | None, tokens: list[int]) -> Block:
        """A cached block that holds ``tokens`` behind ``prev_block``, or else a fresh one.

        UsageError unless the block and its predecessors are full; NoFreeBlocksError if the content
        is not cached and no block is left.
        """
        block = PrefixCachingBlock(prev_block, (), self.block_size, self)
        block.token_ids = tokens
        if block.content is None:
            raise UsageError(
                f"an immutable block holds {self.block_size} tokens behind full blocks: "
                f"these {len(tokens)} do not make one"
            )
        self._place(block)
        return block

    def swap_in(self, blocks: Sequence[Any]) -> None:
        """Give each of ``blocks``, first to last, an id of this pool; all of them or none.

        Full blocks are looked up first: what was shared before meets again at one id.
        """
        with self.undo:
            for block in blocks:
                check_homeless(block)
                block.keep(self.undo)
                block.allocator = self
                if block.content is None:
                    block.block_id = self._take_id()
                else:
                    self._place(block)

    def get_num_full_blocks_touched(self, blocks: Sequence[Any]) -> int:
        """How many of ``blocks`` would need a block of this pool if they were swapped to it.

        Full ones whose content is not cached here, or is cached but waits in the evictor.
        """
        touched = 0
        for block in blocks:
            if block.is_full:
                cached_id = self._cached_blocks.get(block.content)
                touched += cached_id is None or cached_id in self.evictor
        return touched

    def promote_to_immutable_block(self, block: Any) -> int:
        """Cache a block that has become full; returns its id, another one if it was cached already.

        Its own id is free again in that case.
        """
        block_id, content = owned_id(block, self), block.content
        if content is None:
            raise UsageError(f"block {block_id} is not full: it cannot be found by its content")
        cached_id = self._cached_blocks.get(content)
        if cached_id is None:
            self._register(content, block_id)
        elif cached_id != block_id:
            self._pool.release(block_id)
            self._reuse(block, cached_id)
        return block.block_id  # type: ignore[no-any-return]

    def _place(self, block: Any) -> None:
        """Find a cached block for a full handle, or take a fresh one and register it."""
        cached_id = self._cached_blocks.get(block.content)
        if cached_id is None:
            block.block_id = self._take_id()
            self._register(block.content, block.block_id)
        else:
            self._reuse(block, cached_id)
        if self.undo.active:
            self.undo.note(self._set_counters, self._lookups, self._hits)
        self._lookups += 1
        self._hits += cached_id is not None

    def _register(self, content: BlockContent, block_id: int) -> None:
        if self.undo.active:
            self.undo.note(self._unregister, content, block_id, block_id in self._touched_blocks)
        self._cached_blocks[content] = block_id
        self._content_at[block_id] = content
        self._touched_blocks.add(block_id)

    def _unregister(self, content: BlockContent, block_id: int, touched: bool) -> None:
        self._forget(block_id)
        if not touched:
            self._touched_blocks.discard(block_id)

    def _reuse(self, block: Any, cached_id: int) -> None:
        """Point ``block`` to a cached id, waking it if it waited in the evictor."""
        block.hit(self._content_at[cached_id])
        block.block_id = cached_id
        if self._pool.share(cached_id) == 1:
            entry = self.evictor.remove(cached_id)
            if self.undo.active:
                self.undo.note(self.evictor.put_back, cached_id, entry)
            self._begin_use(cached_id, computed=True)

    def _take_id(self) -> int:
        if self.evictor.free_table and not self._pool.free:
            block_id = self._evict()
        else:
            block_id = self._pool.take()
        self._begin_use(block_id, computed=False)
        return block_id

    def _evict(self) -> int:
        block_id = self.evictor.candidate()
        entry = self.evictor.remove(block_id)
        content = self._forget(block_id)
        if self.undo.active:
            self.undo.note(self.evictor.put_back, block_id, entry)
            self.undo.note(self._remember, block_id, content)
        self._pool.share(block_id)
        return block_id

    def _give_up(self, block: Block, block_id: int) -> None:
        content = self._content_at.get(block_id)
        if content is None:
            super()._give_up(block, block_id)
            return
        if self.undo.active:
            block.keep(self.undo)
        if self._pool.drop_owner(block_id) == 0:
            when = self._last_accessed[block_id]
            self.evictor.add(block_id, content.hash, content.num_tokens, when)
            if self.undo.active:
                self.undo.note(self.evictor.remove, block_id)
        block.block_id = None

    # -- when blocks were used, and whether their values exist yet -------------------------------

    def mark_blocks_as_accessed(self, block_ids: Sequence[int], now: float) -> None:
        """Write ``now`` as the time of last use of ``block_ids``.

        UsageError, and nothing written, if one of them is neither in use nor in the evictor.
        """
        check_time("now", now)
        for block_id in block_ids:
            if not self.get_ref_count(block_id) and block_id not in self.evictor:
                raise UsageError(f"block {block_id} is free: it cannot have been accessed")
        for block_id in block_ids:
            write = self._last_accessed.__setitem__
            if not self.get_ref_count(block_id):
                write = self.evictor.update
            if self.undo.active:
                self.undo.note(write, block_id, self.get_last_accessed(block_id))
            write(block_id, now)

    def mark_blocks_as_computed(self, block_ids: Sequence[int]) -> None:
        """Every block registered since the last call now holds its values.

        As in vLLM the argument is not looked at.
        """
        for block_id in self._touched_blocks:
            self._computed[block_id] = True
        self._touched_blocks.clear()

    def get_last_accessed(self, block_id: int) -> float:
        """When a block was used last, -1 if never since it was taken."""
        if block_id in self.evictor:
            return self.evictor.free_table[block_id].last_accessed
        return self._last_accessed[block_id] if self.get_ref_count(block_id) else NEVER_ACCESSED

    def block_is_computed(self, block_id: int) -> bool:
        """Whether the block's keys and values exist: marked while in use, or kept since."""
        if self.get_ref_count(block_id):
            return self._computed[block_id]
        return block_id in self.evictor

    def get_computed_block_ids(
        self,
        prev_computed_block_ids: list[int],
        block_ids: Sequence[int],
        skip_last_block_id: bool = True,
    ) -> list[int]:
        """``prev_computed_block_ids``, extended in place by the computed ones of the rest.

        ``block_ids`` is a whole table whose first ``len(prev_computed_block_ids)`` are known. As in
        vLLM it does not stop at a hole: what follows a block that is not computed counts too.
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
        """The prefix that all of the non-empty lists have in common."""
        common: list[int] = []
        for ids in zip(*(ids for ids in computed_seq_block_ids if ids), strict=False):
            if len(set(ids)) > 1:
                break
            common.append(ids[0])
        return common

    def _begin_use(self, block_id: int, *, computed: bool) -> None:
        if self.undo.active:
            was_computed = self._computed.get(block_id, False)
            when = self._last_accessed.get(block_id, NEVER_ACCESSED)
            self.undo.note(self._set_record, block_id, was_computed, when)
        self._set_record(block_id, computed, NEVER_ACCESSED)

    def _set_record(self, block_id: int, computed: bool, last_accessed: float) -> None:
        self._computed[block_id] = computed
        self._last_accessed[block_id] = last_accessed

    def _set_counters(self, lookups: int, hits: int) -> None:
        self._lookups, self._hits = lookups, hits

    def _remember(self, block_id: int, content: BlockContent) -> None:
        self._cached_blocks[content] = block_id
        self._content_at[block_id] = content

    def _forget(self, block_id: int) -> BlockContent:
        content = self._content_at.pop(block_id)
        del self._cached_blocks[content]
        return content
