"""What a run of V1 tells about its blocks: the KV events of a router, and how long blocks live.

All times are those of the simulation's clock. A batch of events is published when a step ends.
"""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagesim.checks import check_number
from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.simulation.fast_forward import refuse
from pagesim.simulation.paged_v1 import PagedV1Server
from pagesim.simulation.policy import Policy
from pagesim.simulation.policy_v1 import PagedV1
from pagesim.simulation.serving import Server
from pagesim.simulation.waste import WasteLog
from pagesim.timeline import Timeline
from pagesim.timeline.record import heard_pools
from pagesim.v1.kv_cache_metrics import KVCacheEvictionEvent, KVCacheMetricsCollector
from pagesim.v1.kv_event_files import KVEventBatch, save_kv_events
from pagesim.v1.kv_events import AllBlocksCleared, BlockStored, KVCacheEvent


class KVEvents(list[KVEventBatch]):
    """What an engine published, batch by batch."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON lines, which :func:`pagesim.v1.kv_event_files.read_kv_events` reads."""
        save_kv_events(self, path)

    def summary(self) -> JsonObject:
        """Return how many hashes were stored and removed, by medium, and how often all were."""
        stored, removed, cleared = Counter[str](), Counter[str](), 0
        for event in chain.from_iterable(batch.events for batch in self):
            if isinstance(event, AllBlocksCleared):
                cleared += 1
            else:
                count = stored if isinstance(event, BlockStored) else removed
                count[str(event.medium)] += len(event.block_hashes)
        counts = {"stored": dict(stored), "removed": dict(removed), "cleared": cleared}
        return {"batches": len(self), **counts}


@dataclass(frozen=True, slots=True, eq=False)
class Residency:
    """What the watched blocks lived through, in seconds, as vLLM measures it.

    A block's life begins when a request takes it, and ends when another takes it again. ``idle``
    is the time from its last hit, or from its beginning, to its end; ``reuse_gaps`` are the times
    between its last four hits. ``alive`` blocks had not ended with the run, and are in no array.
    """

    sample_rate: float
    lifetime: NDArray[np.float64]
    idle: NDArray[np.float64]
    reuse_gaps: NDArray[np.float64]
    alive: int

    @classmethod
    def of(
        cls, sample_rate: float, ended: Iterable[KVCacheEvictionEvent], alive: int
    ) -> "Residency":
        """Return the arrays of what a collector has drained."""
        rows = list(ended)
        lifetime = np.array([row.lifetime_seconds for row in rows], float)
        idle = np.array([row.idle_seconds for row in rows], float)
        gaps = np.array([gap for row in rows for gap in row.reuse_gaps_seconds], float)
        return cls(sample_rate, lifetime, idle, gaps, alive)

    def summary(self) -> JsonObject:
        """Return the mean and three percentiles of each; None where there is nothing to count."""
        arrays = {"lifetime": self.lifetime, "idle": self.idle, "reuse_gaps": self.reuse_gaps}
        counts = {"sample_rate": self.sample_rate, "ended": len(self.lifetime), "alive": self.alive}
        return counts | {name: _spread(values) for name, values in arrays.items()}


def _spread(values: NDArray[np.float64]) -> dict[str, float | None]:
    names = ("mean", "p50", "p90", "p99")
    if not values.size:
        return dict.fromkeys(names)
    found = float(values.mean()), *np.percentile(values, (50, 90, 99)).tolist()
    return dict(zip(names, found, strict=True))


def to_observe(policy: Policy, residency: float | None) -> PagedV1:
    """The policy whose every step is computed. UsageError unless it is V1, or if it cannot be."""
    if residency is not None and not 0 < check_number("residency", residency) <= 1:
        raise UsageError(f"residency must be a fraction above 0 and at most 1, not {residency}")
    if not isinstance(policy, PagedV1):
        raise UsageError(
            f"kv_events and residency are those of vLLM V1, not of policy {policy.name!r}: pass "
            "policy='v1' or PagedV1(…)"
        )
    if policy.fast_forward:
        refuse("kv_events and residency need every step")
    return replace(policy, fast_forward=False)


class Observer:
    """Listens to a server of V1 that has not begun; ``log`` tells the time."""

    def __init__(
        self, server: Server, log: WasteLog, kv_events: bool, residency: float | None
    ) -> None:
        self._log, self._events, self._watch = log, KVEvents(), None
        assert isinstance(server, PagedV1Server)
        self._hears, self._scheduler = kv_events, server.scheduler
        pool = server.scheduler.kv_cache_manager.block_pool
        if kv_events:
            pool.enable_kv_cache_events = True
            if (connector := server.scheduler.connector) is not None:
                connector.manager.enable_events = True
            server.scheduler.publish = self._publish
            if server.scheduler.connector is not None:
                server.scheduler.connector.manager.enable_events = True
        if residency is not None:
            self._watch = KVCacheMetricsCollector(
                residency, clock=lambda: round(self._now * 1e9), rng=Random(0).random
            )
            pool.metrics_collector = self._watch

    @property
    def _now(self) -> float:
        return self._log.at(-1).seconds if len(self._log) else 0.0

    def _publish(self, events: list[KVCacheEvent]) -> None:
        self._events.append(KVEventBatch(self._now, events))

    def note(self, run: Timeline) -> None:
        """Say in a recording that routers hear; it began before the engine told them anything."""
        run.notes = replace(run.notes, kv_events=heard_pools(self._scheduler))

    def result(self) -> dict[str, Any]:
        """What was observed, as fields of a `Simulation`, once the run has ended."""
        found: dict[str, Any] = {}
        if self._hears:
            found["kv_events"] = self._events
        if (watch := self._watch) is not None:
            ended, alive = watch.drain_events(), len(watch.block_metrics)
            found["residency"] = Residency.of(watch.sample_rate, ended, alive)
        return found
