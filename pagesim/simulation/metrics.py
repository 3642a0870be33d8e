"""What an engine would log after every step: its gauges, its hit rate, its preemptions.

vLLM takes them when a step has ended and what has finished is gone, so they show less than the
step itself used. None of them tells how many slots hold a token: `Metrics.slots` does, at the same
moment, because a block with one token counts as much as a full one.

Source: vLLM 0.33.0, ``Scheduler.make_stats`` and ``vllm/v1/metrics/loggers.py``; vLLM 0.6.4.post1,
``LLMEngine._get_stats``.
"""

import os
from array import array
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.simulation.fast_forward import refuse
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.paged_v1 import PagedV1Server
from pagesim.simulation.policy import Policy
from pagesim.simulation.policy_v0 import Paged
from pagesim.simulation.policy_v1 import PagedV1
from pagesim.simulation.report import Cell, html_table, save_csv
from pagesim.simulation.serving import Server
from pagesim.simulation.waste import WasteLog
from pagesim.v0.block.interfaces import Device
from pagesim.v1.stats import CachingMetrics, PrefixCacheStats

COLUMNS = (
    *("step", "seconds", "running", "waiting", "swapped", "usage", "slots"),
    *("hit_rate", "hit_rate_ever", "preemptions"),
)
"""The columns of a row: all are numbers, and what an engine does not have is empty."""

SHOWN = 20
"""Rows in a notebook."""


class Row(NamedTuple):
    """The metrics after a step; see :class:`Metrics`."""

    seconds: float
    running: int
    waiting: int
    swapped: float
    usage: float
    slots: float
    hit_rate: float
    hit_rate_ever: float
    preemptions: int


class Metrics:
    """One row per step, as arrays by name; the step that a row belongs to has just ended.

    ``running``, ``waiting`` and ``swapped`` (V0) are requests. ``usage`` is the engine's gauge: the
    blocks that requests hold, as a fraction of all blocks in V0, and of all but the null block in
    V1. ``slots`` is the fraction of the slots in the same blocks that hold a token, or NaN if there
    are several groups of layers. ``hit_rate`` is the rate that the engine logs: in V0, hits in
    lookups of blocks since the start; in V1, tokens found in tokens of prompts, over the last 1,000
    requests that were admitted. ``hit_rate_ever`` counts V1's from the start. V1
    leaves out requests that return after a preemption, and V0 also counts blocks that outputs fill.
    Without prefix caching, V1's rate is 0 and V0's is -1. ``preemptions`` are those since the
    start.
    """

    def __init__(self) -> None:
        self._values = array("d")

    def add(self, row: Row) -> None:
        """Append a step."""
        self._values.extend(row)

    def __len__(self) -> int:
        return len(self._values) // len(Row._fields)

    def column(self, name: str) -> NDArray[np.float64]:
        """Return a column of `COLUMNS` as an array ``[n]``. UsageError for another name."""
        if name == "step":
            return np.arange(1.0, len(self) + 1)
        if name not in Row._fields:
            raise UsageError(f"no such metric: {name!r}; there are {', '.join(COLUMNS)}")
        table = np.array(self._values).reshape(len(self), len(Row._fields))
        return table[:, Row._fields.index(name)]

    def rows(self) -> Iterator[tuple[Cell, ...]]:
        """The rows in the order of `COLUMNS`; NaN is None."""
        width, whole = len(Row._fields), {"running", "waiting", "swapped", "preemptions"}
        for step in range(len(self)):
            row = Row._make(self._values[step * width : (step + 1) * width])
            yield (
                step + 1,
                *(
                    None if value != value else int(value) if name in whole else value
                    for name, value in row._asdict().items()
                ),
            )

    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one row per step; see `COLUMNS`. OSError if it fails."""
        save_csv(path, COLUMNS, self.rows())

    def summary(self) -> JsonObject:
        """Return the median and the maximum of the gauges, and the last of what is counted."""
        if not len(self):
            return {"steps": 0}
        found: JsonObject = {"steps": len(self)}
        for name in ("running", "waiting", "swapped", "usage", "slots"):
            values = self.column(name)
            known = values[np.isfinite(values)]
            names = ("median", "max")
            ends = (float(np.median(known)), float(known.max())) if known.size else (None, None)
            found[name] = dict(zip(names, ends, strict=True))
        for name in ("hit_rate", "hit_rate_ever", "preemptions"):
            found[name] = float(self.column(name)[-1])
        return found

    def _repr_html_(self) -> str:
        rows = [row for row, _ in zip(self.rows(), range(SHOWN), strict=False)]
        note = f"{len(rows)} of {len(self)} steps; save_csv(path) writes all"
        return html_table(COLUMNS, rows, note)


def to_measure(policy: Policy) -> Policy:
    """The policy whose every step is computed. UsageError unless it is one of the engines."""
    if not isinstance(policy, Paged | PagedV1):
        raise UsageError(
            f"metrics are those of vLLM's engines, not of policy {policy.name!r}: pass "
            "policy='paged' or 'v1'"
        )
    if policy.fast_forward:
        refuse("metrics need every step")
    return replace(policy, fast_forward=False)


class Meter:
    """Reads a server after each step; ``log`` tells the time."""

    def __init__(self, server: Server, log: WasteLog, outcomes: Outcomes) -> None:
        assert isinstance(server, PagedServer | PagedV1Server)
        self._server, self._log, self._outcomes = server, log, outcomes
        self.metrics, self._recent, self._ever = Metrics(), CachingMetrics(), PrefixCacheStats()

    def __call__(self) -> None:
        """A step has ended."""
        gauges = self._server.gauges()
        preemptions = self._outcomes.num_preemptions
        rates = self._hit_rates(self._server)
        self.metrics.add(Row(self._log.at(-1).seconds, *gauges, *rates, preemptions))

    def _hit_rates(self, server: PagedServer | PagedV1Server) -> tuple[float, float]:
        if isinstance(server, PagedServer):
            rate = server.scheduler.get_prefix_cache_hit_rate(Device.GPU)
            return rate, rate
        stats, ever = server.scheduler.kv_cache_manager.make_prefix_cache_stats(), self._ever
        self._recent.observe(stats)
        ever.queries, ever.hits = ever.queries + stats.queries, ever.hits + stats.hits
        return self._recent.hit_rate, ever.hits / ever.queries if ever.queries else 0.0
