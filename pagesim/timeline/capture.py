"""The state of a live allocator or manager, read once when recording begins."""

from __future__ import annotations

from collections.abc import Mapping

from pagesim.block.block_table import BlockTable
from pagesim.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.block.interfaces import Device
from pagesim.block.pool_allocator import PoolAllocator
from pagesim.block.prefix_caching_block import PrefixCachingBlockAllocator
from pagesim.timeline.effects import Name
from pagesim.timeline.state import State, TableState, fill_of
from pagesim.timeline.tap import tokens_of


def capture(
    allocator: CpuGpuBlockAllocator | PoolAllocator, tables: Mapping[Name, BlockTable]
) -> State:
    """What the pools of ``allocator`` and these tables look like now."""
    null: int | None = None
    if isinstance(allocator, CpuGpuBlockAllocator):
        gpu: PoolAllocator = allocator.allocator_on(Device.GPU)
        cpu: PoolAllocator | None = allocator.allocator_on(Device.CPU)
        null = allocator.null_block_id
    else:
        gpu, cpu = allocator, None
    pools = [pool for pool in (gpu, cpu) if pool is not None]
    total = 1 + max((max(pool.all_block_ids, default=-1) for pool in pools), default=-1)
    caches = [pool for pool in pools if isinstance(pool, PrefixCachingBlockAllocator)]
    num_cpu_blocks = 0 if cpu is None else cpu.get_num_total_blocks()
    return State(
        block_size=gpu.block_size,
        num_gpu_blocks=total - num_cpu_blocks,
        num_cpu_blocks=num_cpu_blocks,
        caching=bool(caches),
        tables={name: _table(table, null) for name, table in tables.items()},
        ref_counts=dict.fromkeys(range(total), 0)
        | {block: count for pool in pools for block, count in pool.ref_counts.items()},
        free_gpu=gpu.free_block_ids,
        free_cpu=() if cpu is None else cpu.free_block_ids,
        evictor_gpu=_evictor(gpu),
        evictor_cpu=_evictor(cpu),
        cached=frozenset().union(*(pool.cached_block_ids for pool in caches)),
        touched=caches[0].touched_block_ids if caches else frozenset(),
        computed=frozenset(
            block
            for pool in caches
            for block in pool.all_block_ids
            if pool.block_is_computed(block)
        ),
        null_block=null,
    )


def _table(table: BlockTable, null: int | None) -> TableState:
    block_ids, tokens = tuple(table.physical_block_ids), tuple(tokens_of(table))
    return TableState(block_ids, tokens, fill_of(block_ids, len(tokens), table.block_size, null))


def _evictor(pool: PoolAllocator | None) -> tuple[int, ...]:
    return tuple(pool.evictor.free_table) if isinstance(pool, PrefixCachingBlockAllocator) else ()
