"""pagesim: how vLLM keeps the KV cache of a language model in pages, to see and to touch.

The names are vLLM 0.6.4.post1's, so that its source can be read beside this.
"""

from pagesim import starting as starting  # first: it looks after Ctrl-C while the rest is imported

# isort: split

from pagesim import workload
from pagesim.errors import NoFreeBlocksError, UsageError
from pagesim.model_spec import ModelSpec
from pagesim.player.explore import explore
from pagesim.pool import Pool
from pagesim.simulation import Simulation, simulate
from pagesim.sweeps import CellResult, Sweep, simulate_cell, sweep
from pagesim.timeline import Event, Question, State, Timeline, TimelineError, load, record
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.common import RefCounter
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import BlockAllocator, Device
from pagesim.v0.block.naive_block import NaiveBlock, NaiveBlockAllocator
from pagesim.v0.block.prefix_caching_block import PrefixCachingBlock, PrefixCachingBlockAllocator
from pagesim.v0.block_manager import AllocStatus, SelfAttnBlockSpaceManager
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import Logprob, Sequence, SequenceGroup, SequenceStatus

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
