"""pagesim shows how vLLM keeps the KV cache of a language model in pages.

The names are those of vLLM 0.6.4.post1, so that you can read its source alongside. `pagesim.v1` has
the names of vLLM V1, release 0.33.0.
"""

from pagesim import starting as starting  # first: it handles Ctrl-C while the rest is imported

# isort: split

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pagesim.errors import NoFreeBlocksError, UsageError
from pagesim.lesson import predict, score
from pagesim.lesson.explore import explore
from pagesim.sizing import ModelSpec, Pool
from pagesim.story import Engine, Story
from pagesim.timeline import Event, Question, State, Timeline, TimelineError, compare, load, record
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.common import RefCounter
from pagesim.v0.block.content import PrefixCachingBlock
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import BlockAllocator, Device
from pagesim.v0.block.naive_block import NaiveBlock, NaiveBlockAllocator
from pagesim.v0.block.prefix_caching_block import PrefixCachingBlockAllocator
from pagesim.v0.block_manager import AllocStatus, SelfAttnBlockSpaceManager
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import Logprob, Sequence, SequenceGroup, SequenceStatus

if TYPE_CHECKING:
    from pagesim import exercises, quirks, v1, workload
    from pagesim.simulation import Simulation, simulate
    from pagesim.simulation.cell import simulate_cell
    from pagesim.studies.cells import CellResult
    from pagesim.studies.sweep import Sweep, sweep

__version__ = "0.1.0"

# Names that need NumPy are imported on first use: everything else works without it.
_LATER = {
    "CellResult": "pagesim.studies.cells",
    "Simulation": "pagesim.simulation",
    "Sweep": "pagesim.studies.sweep",
    "simulate": "pagesim.simulation",
    "simulate_cell": "pagesim.simulation.cell",
    "sweep": "pagesim.studies.sweep",
    "what_if": "pagesim.decision",
}

__all__ = ["BlockAllocator", "CpuGpuBlockAllocator", "Device", "NaiveBlock", "NaiveBlockAllocator"]
__all__ += ["BlockTable", "PrefixCachingBlock", "PrefixCachingBlockAllocator", "RefCounter"]
__all__ += ["AllocStatus", "CacheConfig", "Scheduler", "SchedulerConfig"]
__all__ += ["Logprob", "SelfAttnBlockSpaceManager", "Sequence", "SequenceGroup", "SequenceStatus"]
__all__ += ["Event", "Question", "State", "Timeline", "TimelineError", "compare", "load", "record"]
__all__ += ["CellResult", "Simulation", "Sweep", "simulate", "simulate_cell", "sweep", "what_if"]
__all__ += ["Engine", "ModelSpec", "NoFreeBlocksError", "Pool", "Story", "UsageError", "quirks"]
__all__ += ["v1", "workload"]
__all__ += ["exercises", "explore", "predict", "score"]


def __getattr__(name: str) -> Any:
    if name in ("exercises", "quirks", "v1", "workload"):
        return import_module(f"pagesim.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'pagesim' has no attribute {name!r}")
    value = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
