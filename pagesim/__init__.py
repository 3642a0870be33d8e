"""pagesim: how vLLM keeps the KV cache of a language model in pages, to see and to touch.

The names are vLLM 0.6.4.post1's, so that its source can be read beside this.
"""

from pagesim import workload
from pagesim.block.block_table import BlockTable
from pagesim.block.common import RefCounter
from pagesim.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.block.interfaces import BlockAllocator, Device, NoFreeBlocksError, UsageError
from pagesim.block.naive_block import NaiveBlock, NaiveBlockAllocator
from pagesim.block.prefix_caching_block import PrefixCachingBlock, PrefixCachingBlockAllocator
from pagesim.block_manager import AllocStatus, SelfAttnBlockSpaceManager
from pagesim.config import CacheConfig, SchedulerConfig
from pagesim.model_spec import ModelSpec
from pagesim.player.explore import explore
from pagesim.pool import Pool
from pagesim.scheduler import Scheduler
from pagesim.sequence import Logprob, Sequence, SequenceGroup, SequenceStatus
from pagesim.simulation import Simulation, simulate
from pagesim.sweeps import CellResult, Sweep, simulate_cell, sweep
from pagesim.timeline import Event, Question, State, Timeline, TimelineError, load, record

__version__ = "0.1.0"

__all__ = [
    "AllocStatus",
    "BlockAllocator",
    "BlockTable",
    "CacheConfig",
    "CellResult",
    "CpuGpuBlockAllocator",
    "Device",
    "Event",
    "Logprob",
    "ModelSpec",
    "NaiveBlock",
    "NaiveBlockAllocator",
    "NoFreeBlocksError",
    "Pool",
    "PrefixCachingBlock",
    "PrefixCachingBlockAllocator",
    "Question",
    "RefCounter",
    "Scheduler",
    "SchedulerConfig",
    "SelfAttnBlockSpaceManager",
    "Sequence",
    "SequenceGroup",
    "SequenceStatus",
    "Simulation",
    "State",
    "Sweep",
    "Timeline",
    "TimelineError",
    "UsageError",
    "explore",
    "load",
    "record",
    "simulate",
    "simulate_cell",
    "sweep",
    "workload",
]
