"""How long blocks keep their content, how long nobody needs it, and how soon it is needed again.

Source: vLLM 0.33.0, ``vllm/v1/core/kv_cache_metrics.py`` and ``vllm/v1/metrics/stats.py``.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from pagesim.checks import check_number
from pagesim.errors import UsageError
from pagesim.v1.kv_cache_utils import KVCacheBlock


def monotonic_ns() -> int:
    """The time in nanoseconds since some moment."""
    return time.monotonic_ns()


@dataclass(frozen=True, slots=True)
class KVCacheEvictionEvent:
    """What a block lived through: from when it was taken, from its last hit, between its last hits.

    The last four hits are remembered. A block that was never found is idle since it was taken.
    """

    lifetime_seconds: float
    idle_seconds: float
    reuse_gaps_seconds: tuple[float, ...]


class BlockMetricsState:
    """When a block was taken, and when requests have found it since."""

    def __init__(self, clock: Callable[[], int] = monotonic_ns) -> None:
        self._clock = clock
        self.birth_time_ns = self.last_access_ns = clock()
        self.access_history = deque[int](maxlen=4)

    def record_access(self) -> None:
        """A request has found the block."""
        self.last_access_ns = self._clock()
        self.access_history.append(self.last_access_ns)

    def get_lifetime_seconds(self) -> float:
        """Return the time since the block was taken."""
        return (self._clock() - self.birth_time_ns) / 1e9

    def get_idle_time_seconds(self) -> float:
        """Return the time since the last hit, or since the block was taken."""
        return (self._clock() - self.last_access_ns) / 1e9

    def get_reuse_gaps_seconds(self) -> list[float]:
        """Return the times between the hits that are remembered."""
        return [(after - before) / 1e9 for before, after in pairwise(self.access_history)]


class KVCacheMetricsCollector:
    """Watches a sample of a pool's blocks: each that is taken, with probability ``sample_rate``.

    ``clock`` returns nanoseconds, and ``rng`` numbers from 0 to 1. UsageError unless
    ``sample_rate`` is above 0 and at most 1.
    """

    def __init__(
        self,
        sample_rate: float = 0.01,
        *,
        clock: Callable[[], int] = monotonic_ns,
        rng: Callable[[], float] = random.random,
    ) -> None:
        if not 0 < check_number("sample_rate", sample_rate) <= 1:
            raise UsageError(f"sample_rate must be above 0 and at most 1, not {sample_rate}")
        self.sample_rate, self._clock, self._rng = sample_rate, clock, rng
        self.block_metrics: dict[int, BlockMetricsState] = {}
        """The blocks that are watched, by id."""
        self._events: list[KVCacheEvictionEvent] = []

    def should_sample_block(self) -> bool:
        """Draw whether to watch a block."""
        return self._rng() < self.sample_rate

    def on_block_allocated(self, block: KVCacheBlock) -> None:
        """A block is taken."""
        if self.should_sample_block():
            self.block_metrics[block.block_id] = BlockMetricsState(self._clock)

    def on_block_accessed(self, block: KVCacheBlock) -> None:
        """A request has found a block; writing into one is no access."""
        if its := self.block_metrics.get(block.block_id):
            its.record_access()

    def on_block_evicted(self, block: KVCacheBlock) -> None:
        """The content of a block is given up, whether or not it could be found."""
        if its := self.block_metrics.pop(block.block_id, None):
            times = its.get_lifetime_seconds(), its.get_idle_time_seconds()
            self._events.append(KVCacheEvictionEvent(*times, tuple(its.get_reuse_gaps_seconds())))

    def reset(self) -> None:
        """Forget the blocks that are watched, and what was not drained."""
        self.block_metrics.clear()
        self._events.clear()

    def drain_events(self) -> list[KVCacheEvictionEvent]:
        """Return what has ended since the last call."""
        events, self._events = self._events, []
        return events
