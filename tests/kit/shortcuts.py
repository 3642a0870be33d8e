"""What simulators do otherwise than vLLM: ten engines, each with one of the traps' mistakes."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from pagesim.v1 import BlockPool, KVCacheBlock, KVCacheManager, Request, RequestStatus, Scheduler
from pagesim.v1.kv_cache_coordinator import KVCacheCoordinator
from pagesim.v1.step import Step

Patch = pytest.MonkeyPatch
WAITING = (RequestStatus.WAITING, RequestStatus.PREEMPTED)


def every_block_is_used(patch: Patch) -> None:
    """Block 0 is a block like the others."""
    init = BlockPool.__init__

    def one_more(self: BlockPool, num_gpu_blocks: int, *rest: Any, **options: Any) -> None:
        init(self, num_gpu_blocks + 1, *rest, **options)

    patch.setattr(BlockPool, "__init__", one_more)


def a_token_needs_a_free_block(patch: Patch) -> None:
    """Every token of a running request counts as one that begins a block."""
    refuse(patch, lambda manager, request, reserve: manager.block_pool.get_num_free_blocks() < 1)


def the_oldest_is_preempted(patch: Patch) -> None:
    """The victim is the first of the running requests."""
    patch.setattr(Scheduler, "_victim", lambda self: 0)


def a_step_that_preempts_admits(patch: Patch) -> None:
    """The room that a victim leaves is given away in the same step."""
    never = property(lambda self: False, lambda self, value: None)
    patch.setattr(Step, "has_preempted", never)


def the_first_chunk_must_fit(patch: Patch) -> None:
    """A prompt is admitted if there is room for what it computes in its first step."""
    allocate = KVCacheManager.allocate_slots

    def for_a_chunk(self: KVCacheManager, *args: Any, **options: Any) -> Any:
        return allocate(self, *args, **options | {"full_sequence_must_fit": False})

    patch.setattr(KVCacheManager, "allocate_slots", for_a_chunk)


def running_requests_keep_the_watermark(patch: Patch) -> None:
    """The blocks of the watermark are for nobody."""

    def is_short(manager: KVCacheManager, request: Request, needed: int) -> bool:
        free = manager.block_pool.get_num_free_blocks()
        return bool(needed) and needed + manager.watermark_blocks > free

    refuse(patch, is_short)


def a_freed_block_loses_its_hash(patch: Patch) -> None:
    """A block's content is forgotten when the block is freed, not when it is taken."""
    free = BlockPool.free_blocks

    def forgetting(self: BlockPool, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        blocks = list(ordered_blocks)
        self.evict_blocks([block.block_id for block in blocks if block.ref_cnt == 1])
        free(self, blocks)

    patch.setattr(BlockPool, "free_blocks", forgetting)


def a_hit_is_free(patch: Patch) -> None:
    """Blocks that are found need no room, even if nobody owns them."""
    count = KVCacheCoordinator.get_num_blocks_to_allocate

    def of_new_blocks(self: KVCacheCoordinator, *args: Any, **options: Any) -> int:
        hits = [block for group in args[2] for block in group]
        return count(self, *args, **options) - sum(block.ref_cnt == 0 for block in hits)

    take = BlockPool.get_new_blocks

    def or_of_others(self: BlockPool, num_blocks: int) -> list[KVCacheBlock]:
        """Such a simulator counts blocks: it has not noticed that there are too few."""
        missing = num_blocks - self.get_num_free_blocks()
        made = [KVCacheBlock(len(self.blocks) + more) for more in range(max(missing, 0))]
        self.blocks += made
        self.num_gpu_blocks += len(made)
        self.free_block_queue.append_n(made)
        return take(self, num_blocks)

    patch.setattr(KVCacheCoordinator, "get_num_blocks_to_allocate", of_new_blocks)
    patch.setattr(BlockPool, "get_new_blocks", or_of_others)


def equal_blocks_are_merged(patch: Patch) -> None:
    """A block whose content is cached already is given up for the other one."""
    cache = BlockPool.cache_full_blocks

    def merging(self: BlockPool, request: Request, blocks: Any, *args: Any, **options: Any) -> None:
        cache(self, request, blocks, *args, **options)
        for index in range(args[0], args[1]):
            (first,) = self.get_cached_block(request.block_hashes[index]) or (blocks[index],)
            if first is not blocks[index]:
                mine, blocks[index] = blocks[index], first
                self.touch([first])
                self.evict_blocks([mine.block_id])
                self.free_blocks([mine])

    patch.setattr(BlockPool, "cache_full_blocks", merging)


def a_table_is_freed_head_first(patch: Patch) -> None:
    """The beginning of a prompt is evicted before its end."""
    free = BlockPool.free_blocks

    def in_order(self: BlockPool, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        free(self, reversed(list(ordered_blocks)))

    patch.setattr(BlockPool, "free_blocks", in_order)


def refuse(patch: Patch, is_refused: Callable[[KVCacheManager, Request, int], bool]) -> None:
    """Give a running request no slots where ``is_refused`` says so, of the blocks it needs."""
    allocate = KVCacheManager.allocate_slots

    def or_nothing(self: KVCacheManager, request: Request, *args: Any, **options: Any) -> Any:
        length = request.num_computed_tokens + args[0]
        num_blocks = -(-length // self.block_pool.hash_block_size)
        needed = num_blocks - len(self.get_block_ids(request.request_id)[0])
        if request.status not in WAITING and is_refused(self, request, needed):
            return None
        return allocate(self, request, *args, **options)

    patch.setattr(KVCacheManager, "allocate_slots", or_nothing)


SHORTCUTS: Sequence[Callable[[Patch], None]] = (
    every_block_is_used,
    a_token_needs_a_free_block,
    the_oldest_is_preempted,
    a_step_that_preempts_admits,
    the_first_chunk_must_fit,
    running_requests_keep_the_watermark,
    a_freed_block_loses_its_hash,
    a_hit_is_free,
    equal_blocks_are_merged,
    a_table_is_freed_head_first,
)
"""In the order of the traps."""
