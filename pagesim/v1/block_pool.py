"""The pool: which blocks are free, who owns the others, and which are found by their content.

All KV cache groups take their blocks from it. A block is found only by the group that cached it.
A block whose content is cached stays findable in the free queue until it is taken: eviction is
nothing but taking it. So the queue's order is the order of eviction.

Source: vLLM 0.33.0, ``vllm/v1/core/block_pool.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pagesim.checks import check_a, check_bool, check_count, check_int, check_token_ids, explained
from pagesim.errors import UsageError
from pagesim.journal import Journal, event
from pagesim.journal.effects import BACK, CACHE, EVICT, FREE, FRONT, HIT, TAKE, UNSHARE
from pagesim.journal.state import State
from pagesim.v1.block_pool_guards import check_not_cached, check_range, hash_of_first
from pagesim.v1.kv_cache_metrics import KVCacheMetricsCollector
from pagesim.v1.kv_cache_utils import (
    BlockHash,
    BlockHashListWithBlockSize,
    BlockHashWithGroupId,
    FreeKVCacheBlockQueue,
    KVCacheBlock,
    check_group_id,
)
from pagesim.v1.kv_events import AllBlocksCleared, KVCacheEvent, removed, stored
from pagesim.v1.request import Request, check_block_size
from pagesim.v1.state import read_pool

FREE_QUEUE = "free queue"
"""What the queue is called in a timeline."""


class BlockHashToBlockMap:
    """The cached blocks by their key. Equal blocks coexist: the one cached first is found first.

    They are not merged, so that the ids in a table never change.
    """

    def __init__(self) -> None:
        self._blocks: dict[BlockHash, dict[int, KVCacheBlock]] = {}

    def __len__(self) -> int:
        return len(self._blocks)

    def get_one_block(self, key: BlockHash) -> KVCacheBlock | None:
        """The block of this hash that was cached first; None if there is none."""
        blocks = self._blocks.get(key)
        return None if blocks is None else next(iter(blocks.values()))

    def insert(self, key: BlockHash, block: KVCacheBlock) -> None:
        """Find ``block`` by ``key``, behind the blocks that are found by it already."""
        self._blocks.setdefault(key, {})[block.block_id] = block

    def pop(self, key: BlockHash, block_id: int) -> KVCacheBlock:
        """Find this block no more; the others of its hash keep their order."""
        blocks = self._blocks[key]
        block = blocks.pop(block_id)
        if not blocks:
            del self._blocks[key]
        return block


class BlockPool:
    """A pool of ``num_gpu_blocks`` blocks; block 0 is the null block, which is never freed.

    The null block stands in a table for a block that is gone. A failed call has changed nothing.
    ``hash_block_size`` is the number of tokens that one more hash of a request covers: the size of
    a block, or a divisor of the sizes in all groups. ``enable_kv_cache_events`` keeps what a router
    should hear for `take_events`; a ``metrics_collector`` hears what happens to the blocks.
    """

    def __init__(
        self,
        num_gpu_blocks: int,
        enable_caching: bool,
        hash_block_size: int,
        enable_kv_cache_events: bool = False,
        metrics_collector: KVCacheMetricsCollector | None = None,
        *,
        journal: Journal | None = None,
    ) -> None:
        self.num_gpu_blocks = check_count("num_gpu_blocks", num_gpu_blocks, 1)
        check_bool("enable_caching", enable_caching)
        self.enable_caching = enable_caching
        self.enable_kv_cache_events = check_bool("enable_kv_cache_events", enable_kv_cache_events)
        self.kv_event_queue: list[KVCacheEvent] = []
        if metrics_collector is not None:
            check_a("metrics_collector", metrics_collector, KVCacheMetricsCollector)
        self.metrics_collector = metrics_collector
        self.hash_block_size = check_int("hash_block_size", hash_block_size, 1)
        self.journal = journal or Journal()
        self.blocks = [KVCacheBlock(block_id) for block_id in range(num_gpu_blocks)]
        self.free_block_queue = FreeKVCacheBlockQueue(self.blocks)
        self.cached_block_hash_to_block = BlockHashToBlockMap()
        self.cached_block_hashes_by_block: dict[int, set[BlockHash]] = {}
        """Further keys of a block, by its id."""
        self.block_sizes: dict[int, int] = {}
        """Tokens of a block by its group, where they are not ``hash_block_size``."""
        self.num_cached_free_blocks = 0
        """Blocks in the queue that are still found by their content."""
        self.null_block = self.free_block_queue.popleft()
        self.null_block.is_null = True

    # -- taking, sharing, giving back ------------------------------------------------------------

    @event()
    def get_new_blocks(self, num_blocks: int) -> list[KVCacheBlock]:
        """Take the first ``num_blocks`` blocks of the queue and evict their content.

        ValueError if fewer are free.
        """
        if not 0 <= num_blocks <= self.get_num_free_blocks():
            raise ValueError(
                f"{num_blocks} blocks cannot be taken: {self.get_num_free_blocks()} are free"
            )
        blocks = self.free_block_queue.popleft_n(num_blocks)
        for block in blocks:
            self._maybe_evict_cached_block(block)
            block.ref_cnt = 1
            if self.journal.active:
                self.journal.note((TAKE, block.block_id, FREE_QUEUE))
        if self.metrics_collector is not None:
            for block in blocks:
                if self.enable_caching:
                    self.metrics_collector.on_block_evicted(block)
                self.metrics_collector.on_block_allocated(block)
        return blocks

    @event()
    def touch(self, blocks: Sequence[KVCacheBlock]) -> None:
        """Add an owner to each block; a free block leaves the queue from any position."""
        touched = [block for block in blocks if not block.is_null]
        self.check_own(touched)
        for block in touched:
            if block.ref_cnt == 0:
                self.free_block_queue.remove(block)
                self.num_cached_free_blocks -= block.key is not None
            block.ref_cnt += 1
            if self.metrics_collector is not None:
                self.metrics_collector.on_block_accessed(block)
            if self.journal.active:
                group_id = getattr(block.key, "group_id", 0)
                size = self.block_sizes.get(group_id, self.hash_block_size)
                self.journal.note((HIT, block.block_id, size))

    @event()
    def free_blocks(self, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        """Remove an owner from each block, in the order in which the blocks are to be taken again.

        Blocks without an owner return to the queue: cached ones to the back, where their content
        lasts longest, the others to the front. UsageError if one of the blocks is already free.
        """
        ordered = [block for block in ordered_blocks if not block.is_null]
        self.check_own(ordered)
        for position, block in enumerate(ordered):
            if block.ref_cnt == 0:
                for counted in ordered[:position]:
                    counted.ref_cnt += 1
                raise UsageError(f"block {block.block_id} is already free")
            block.ref_cnt -= 1
        unowned = [block for block in ordered if block.ref_cnt == 0]
        if len(set(unowned)) < len(unowned):
            for block in ordered:
                block.ref_cnt += 1
            raise UsageError(f"a block can be freed only once, but one occurs twice in {unowned}")
        to_front = [block for block in unowned if block.key is None]
        to_back = [block for block in unowned if block.key is not None]
        self.free_block_queue.prepend_n(to_front)
        self.free_block_queue.append_n(to_back)
        self.num_cached_free_blocks += len(to_back)
        if self.journal.active:
            for block in ordered:
                if block.ref_cnt:
                    self.journal.note((UNSHARE, block.block_id))
            for block in reversed(to_front):
                self.journal.note((FREE, block.block_id, FREE_QUEUE, FRONT))
            for block in to_back:
                self.journal.note((FREE, block.block_id, FREE_QUEUE, BACK))

    @explained
    def check_own(self, blocks: Iterable[KVCacheBlock]) -> None:
        """Raise UsageError for a block of another pool: its id means another block here."""
        for block in blocks:
            if not 0 <= block.block_id < self.num_gpu_blocks or (
                self.blocks[block.block_id] is not block
            ):
                raise UsageError(f"block {block.block_id} belongs to another pool: pass this one's")

    # -- content ---------------------------------------------------------------------------------

    @explained
    def get_cached_block(
        self, block_hash: BlockHash, kv_cache_group_ids: Sequence[int] = (0,)
    ) -> list[KVCacheBlock] | None:
        """Return a block with this content for each group, or None unless every group has one."""
        blocks = []
        for group_id in kv_cache_group_ids:
            try:
                key = block_hash + group_id.to_bytes(4) if group_id else block_hash
            except OverflowError:
                check_group_id("a group's id", group_id)
                raise
            block = self.cached_block_hash_to_block.get_one_block(key)
            if block is None:
                return None
            blocks.append(block)
        return blocks

    @event()
    def cache_full_blocks(
        self,
        request: Request,
        blocks: Sequence[KVCacheBlock],
        num_cached_blocks: int,
        num_full_blocks: int,
        block_size: int,
        kv_cache_group_id: int = 0,
        block_mask: Sequence[bool] | None = None,
    ) -> None:
        """Cache ``blocks[num_cached_blocks:num_full_blocks]`` of a request's table.

        Null blocks are left out, and so are blocks whose entry in ``block_mask`` is False. If
        ``block_mask`` is given, its first entry belongs to the first of these blocks.
        """
        check_group_id("kv_cache_group_id", kv_cache_group_id)
        check_block_size(request, self.hash_block_size)
        start, end, table = num_cached_blocks, num_full_blocks, blocks
        check_range(request, start, end, table, block_mask)
        hashes: Sequence[BlockHash] = request.block_hashes
        if block_size != self.hash_block_size:
            hashes = BlockHashListWithBlockSize(hashes, self.hash_block_size, block_size)
        chosen = [
            index
            for index in range(start, end)
            if not table[index].is_null and (block_mask is None or block_mask[index - start])
        ]
        check_not_cached(request, chosen, table, len(hashes), block_size)
        for index in chosen:
            self._maybe_evict_cached_block(table[index])  # the hash of fewer tokens
            key = hashes[index]
            if kv_cache_group_id:
                key = BlockHashWithGroupId(key, kv_cache_group_id)
            self._set_key(table[index], key, (index + 1) * block_size)
        if self.enable_kv_cache_events and start < end:
            event = stored(request, hashes, chosen, start, end, block_size, kv_cache_group_id)
            self.kv_event_queue.append(event)

    def _set_key(self, block: KVCacheBlock, key: BlockHash, num_tokens: int) -> None:
        block.set_block_hash(key, num_tokens)
        self.cached_block_hash_to_block.insert(key, block)
        self.num_cached_free_blocks += block.ref_cnt == 0
        if self.journal.active:
            self.journal.note((CACHE, block.block_id))

    @event()
    def cache_partial_block(
        self,
        request: Request,
        block: KVCacheBlock,
        num_tokens: int,
        kv_cache_group_id: int,
        block_size: int,
        replace: bool = False,
    ) -> BlockHash | None:
        """Find a block also by the hash of ``num_tokens`` tokens, which end inside it.

        ``replace``, or a hash of the block that covers fewer tokens, makes this its only key.
        Returns the key; None for the null block.
        """
        check_group_id("kv_cache_group_id", kv_cache_group_id)
        check_bool("replace", replace)
        check_block_size(request, self.hash_block_size)
        self.check_own([block])
        check_int("num_tokens", num_tokens, 1)
        index = hash_of_first(request, num_tokens, self.hash_block_size)
        if block.is_null:
            return None
        block_hash = request.block_hashes[index]
        key = BlockHashWithGroupId(block_hash, kv_cache_group_id)
        more = self.cached_block_hashes_by_block.get(block.block_id, ())
        is_known = key == block.key or key in more
        if replace or (not is_known and block.block_hash_num_tokens < num_tokens):
            self._maybe_evict_cached_block(block)
            is_known = False
        if block.key is None:
            self._set_key(block, key, num_tokens)
        elif not is_known:
            self.cached_block_hashes_by_block.setdefault(block.block_id, set()).add(key)
            self.cached_block_hash_to_block.insert(key, block)
        if self.enable_kv_cache_events and not is_known:
            where = [index], index, index + 1, self.hash_block_size, kv_cache_group_id
            self.kv_event_queue.append(stored(request, request.block_hashes, *where))
        return key

    def _maybe_evict_cached_block(self, block: KVCacheBlock, publish: bool = True) -> bool:
        """Forget what a block caches; False if that is nothing. Routers hear it if ``publish``."""
        if block.key is None:
            return False
        for key in (block.key, *sorted(self.cached_block_hashes_by_block.pop(block.block_id, ()))):
            self.cached_block_hash_to_block.pop(key, block.block_id)
            if publish and self.enable_kv_cache_events:
                self.kv_event_queue.append(removed(key))
        block.reset_hash()
        self.num_cached_free_blocks -= block.ref_cnt == 0
        if self.journal.active:
            self.journal.note((EVICT, block.block_id))
        return True

    @event()
    def evict_blocks(self, block_ids: Iterable[int]) -> None:
        """Forget the content of these blocks; their owners and the queue do not change."""
        ids = check_token_ids("block_ids", block_ids)
        for block_id in ids:
            if not 0 <= block_id < self.num_gpu_blocks:
                raise UsageError(f"block {block_id} does not belong to this pool")
        for block_id in ids:
            if self.metrics_collector is not None:
                self.metrics_collector.on_block_evicted(self.blocks[block_id])
            self._maybe_evict_cached_block(self.blocks[block_id])

    @event()
    def reset_prefix_cache(self) -> bool:
        """Forget all cached content; while any block is owned, return False and forget nothing.

        The order of the queue does not change.
        """
        if self.get_num_free_blocks() != self.num_gpu_blocks - 1:
            return False
        for block in self.blocks:
            self._maybe_evict_cached_block(block, publish=False)
        if self.metrics_collector is not None:
            self.metrics_collector.reset()
        if self.enable_kv_cache_events:
            self.kv_event_queue.append(AllBlocksCleared())
        return True

    def take_events(self) -> list[KVCacheEvent]:
        """Return what a router should hear since the last call."""
        events, self.kv_event_queue = self.kv_event_queue, []
        return events

    # -- state -----------------------------------------------------------------------------------

    def get_num_free_blocks(self) -> int:
        """Return the number of blocks that could be taken now, cached or not."""
        return self.free_block_queue.num_free_blocks

    def get_usage(self) -> float:
        """Return the fraction of the blocks that is owned; the null block does not count."""
        usable = self.num_gpu_blocks - 1
        return 1.0 - self.get_num_free_blocks() / usable if usable else 0.0

    def state(self) -> State:
        """Return the present state of the pool."""
        return read_pool(self, FREE_QUEUE)
