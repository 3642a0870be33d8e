"""The state of a live allocator or manager, read once when recording begins."""

from __future__ import annotations

from collections.abc import Mapping

from pagesim.effects import Name, is_name, show
from pagesim.errors import UsageError
from pagesim.state import Queues, State, TableState
from pagesim.timeline.header import MAX_BLOCKS
from pagesim.timeline.tap import tokens_of
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import Device
from pagesim.v0.block.pool_allocator import PoolAllocator
from pagesim.v0.block.prefix_caching_block import PrefixCachingBlockAllocator
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import SequenceGroup

QUEUES = ("waiting", "running", "swapped")


def capture(
    allocator: CpuGpuBlockAllocator | PoolAllocator,
    tables: Mapping[Name, BlockTable],
    scheduler: Scheduler | None = None,
) -> State:
    """What the pools of ``allocator``, these tables and the scheduler's queues look like now.

    UsageError for more blocks than a timeline may have: every state of it names them all.
    """
    queues, requests = (Queues(), {}) if scheduler is None else _queues(scheduler)
    null: int | None = None
    if isinstance(allocator, CpuGpuBlockAllocator):
        gpu: PoolAllocator = allocator.allocator_on(Device.GPU)
        cpu: PoolAllocator | None = allocator.allocator_on(Device.CPU)
        null = allocator.null_block_id
    else:
        gpu, cpu = allocator, None
    pools = [pool for pool in (gpu, cpu) if pool is not None]
    if (num_blocks := sum(pool.get_num_total_blocks() for pool in pools)) > MAX_BLOCKS:
        raise UsageError(
            f"{num_blocks} blocks are more than the {MAX_BLOCKS} that a recorded run may have: "
            f"record a smaller pool, or larger blocks"
        )
    total = 1 + max((max(pool.all_block_ids, default=-1) for pool in pools), default=-1)
    caches = [pool for pool in pools if isinstance(pool, PrefixCachingBlockAllocator)]
    num_cpu_blocks = 0 if cpu is None else cpu.get_num_total_blocks()
    sizes = {"GPU": total - num_cpu_blocks} | ({"CPU": num_cpu_blocks} if num_cpu_blocks else {})
    lists: dict[str, tuple[int, ...]] = {}
    for name, pool in zip(sizes, pools, strict=False):
        lists[f"{name} free list"] = pool.free_block_ids
        if isinstance(pool, PrefixCachingBlockAllocator):
            lists[f"{name} evictor"] = tuple(pool.evictor.free_table)
    return State(
        block_size=gpu.block_size,
        pools=sizes,
        caching=bool(caches),
        tables={name: _table(table, null) for name, table in tables.items()},
        ref_counts=dict.fromkeys(range(total), 0)
        | {block: count for pool in pools for block, count in pool.ref_counts.items()},
        lists=lists,
        cached=frozenset().union(*(pool.cached_block_ids for pool in caches)),
        computed=frozenset(
            block
            for pool in caches
            for block in pool.all_block_ids
            if pool.block_is_computed(block)
        ),
        null_block=null,
        queues=queues,
        requests=requests,
    )


def _queues(scheduler: Scheduler) -> tuple[Queues, dict[Name, Name]]:
    """The requests in a scheduler's queues, and the first sequence of each."""
    live = [list(getattr(scheduler, queue)) for queue in QUEUES]
    names = (tuple(request_of(group) for group in queue) for queue in live)
    firsts = {request_of(group): group.first_seq.seq_id for queue in live for group in queue}
    return Queues(zip(QUEUES, names, strict=True)), firsts


def request_of(group: SequenceGroup) -> Name:
    """What a group's request is called in a timeline: its id, or that as text."""
    given: object = group.request_id
    return given if is_name(given) else show(given)  # type: ignore[return-value]


def _table(table: BlockTable, null: int | None) -> TableState:
    block_ids, tokens = tuple(table.physical_block_ids), tuple(tokens_of(table))
    return TableState.of(block_ids, tokens, table.block_size, null)
