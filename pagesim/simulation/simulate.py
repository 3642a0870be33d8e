"""`pagesim.simulate`: a workload through a memory policy, with one accounting for all of them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from pagesim.checks import check_bool, check_int
from pagesim.errors import UsageError
from pagesim.progress import Progress, ProgressCallback
from pagesim.simulation.baseline import BaselineEngine
from pagesim.simulation.baselines import ContiguousPolicy, MemoryPolicy, StaticPolicy, TokenPolicy
from pagesim.simulation.baselines.contiguous import SIZINGS
from pagesim.simulation.cost_model import CostModel, Roofline
from pagesim.simulation.engine import Engine
from pagesim.simulation.fast_forward import FastForwardEngine, why_not
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.paged import PagedEngine
from pagesim.simulation.waste import WasteLog
from pagesim.sizing.pool import Pool
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload.files import load
from pagesim.workload.request import Request, Workload

if TYPE_CHECKING:
    from pagesim.timeline import Timeline

POLICIES = (*SIZINGS, "static", "token", "paged")
"""The names that ``policy`` may have."""

PAPER_POOL = Pool(15_728, "opt-13b, 12 GiB")
"""Table 1 of the paper: 12 GiB for keys and values of 800 KiB a token."""

NO_PAGES = {
    "enable_prefix_caching": False,
    "enable_chunked_prefill": False,
    "samples": 1,
    "preemption_mode": None,
    "num_cpu_blocks": 0,
    "fast_forward": None,
    "record": False,
}


@dataclass(frozen=True, slots=True)
class Simulation:
    """What came out of a run.

    ``waste`` says where the slots were, ``requests`` what became of each request; ``timeline`` is
    the recorded run of the pages, None unless it was asked for. ``block_size`` is None where memory
    is not paged.
    """

    policy: str
    workload: Workload
    pool: Pool
    block_size: int | None
    waste: WasteLog
    requests: Outcomes
    timeline: Timeline | None = None

    @property
    def iterations(self) -> int:
        """How often the model ran."""
        return self.waste.iterations

    @property
    def preemptions(self) -> int:
        """How often a running request was thrown out of memory."""
        return self.requests.num_preemptions

    @property
    def seconds(self) -> float:
        """When the last request was done, by the clock of the cost model."""
        return float(self.waste.seconds[-1]) if len(self.waste) else 0.0

    def summary(self) -> dict[str, Any]:
        """The run in numbers and words that JSON knows; NaN is None.

        ``waste`` is the mean of the steady state, in percent, and the batch; latencies are in
        seconds; ``output_tokens_per_s`` counts finished requests, over all of the run.
        """
        tokens = sum(
            request.output_tokens
            for request, finished in zip(self.workload, self.requests.finished, strict=True)
            if finished == finished
        )
        none_ran = self.iterations == 0
        return {
            "policy": self.policy,
            "workload": self.workload.name,
            "source": self.workload.source,
            "pool": self.pool.slots,
            "block_size": self.block_size,
            "requests": len(self.requests),
            "finished": self.requests.num_finished,
            "ignored": self.requests.num_ignored,
            "stuck": self.requests.num_stuck,
            "preemptions": self.preemptions,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "output_tokens_per_s": tokens / self.seconds if self.seconds else 0.0,
            "waste": None if none_ran else self.waste.mean(),
            "latency": {
                name: {
                    key: value if math.isfinite(value) else None
                    for key, value in self.requests.percentiles(name).items()
                }
                for name in ("time_to_first_token", "normalized", "end_to_end")
            },
        }

    def __repr__(self) -> str:
        return (
            f"<Simulation of {self.workload.name!r}: policy {self.policy!r}, "
            f"{self.pool.slots:,} slots, {self.requests.num_finished} of {len(self.requests)} "
            f"requests finished, {self.iterations:,} iterations, {self.preemptions} preemptions>"
        )


def simulate(
    workload: Workload | Sequence[Request] | str | os.PathLike[str],
    *,
    policy: str | MemoryPolicy = "paged",
    pool: Pool | SupportsIndex = PAPER_POOL,
    block_size: int = 16,
    max_model_len: int = 2048,
    max_num_seqs: int = 256,
    max_num_batched_tokens: int | None = None,
    saturated: bool = False,
    cost_model: CostModel | None = None,
    warmup: float = 0.1,
    enable_prefix_caching: bool = False,
    enable_chunked_prefill: bool = False,
    samples: int = 1,
    preemption_mode: str | None = None,
    num_cpu_blocks: int = 0,
    fast_forward: bool | None = None,
    record: bool = False,
    progress: bool | ProgressCallback | None = None,
) -> Simulation:
    """Run a workload, or the file that a path names, and see where the memory goes.

    ``policy``: "paged" (the real scheduler and block manager), one of the contiguous "max", "pow2"
    and "oracle", "static", "token", or an object of yours (a
    :class:`pagesim.simulation.baselines.MemoryPolicy`, which brings its own pool). ``pool`` is in
    slots, one a token. ``saturated`` lets all requests arrive at once. ``max_num_batched_tokens``
    is 2048 or ``max_model_len``, whichever is larger, unless it is given. A request that can never
    be served (prompt and output longer than ``max_model_len``, or than the pool) is ignored and
    reported.

    The means of ``waste`` are taken over the steady state: after the part ``warmup`` of the
    requests is done, until the last one enters memory.

    ``block_size`` and what follows ``warmup`` up to ``record`` are for "paged" alone.
    ``fast_forward`` gives the same result sooner, by touching only the sequences that need a block,
    arrive or finish; it is the default wherever it can be (not with prefix caching, and not when
    ``record`` asks for a timeline of every step). ``cost_model`` is the clock.
    ``progress``: True draws a bar, None does so on a terminal, a function is called with the number
    of requests done, and of all.

    UsageError or TypeError names a bad argument and its value; a file fails as in
    :func:`pagesim.workload.load`.
    """
    check_bool("saturated", saturated)
    check_bool("record", record)
    check_bool("fast_forward", fast_forward, None)
    if not callable(progress):
        check_bool("progress", progress, None)
    check_int("block_size", block_size, 1)
    check_int("max_model_len", max_model_len, 1)
    check_int("max_num_seqs", max_num_seqs, 1)
    check_int("samples", samples, 1)
    if isinstance(warmup, bool) or not isinstance(warmup, int | float):
        raise TypeError(f"warmup must be a number, not {warmup!r} ({type(warmup).__name__})")
    if not 0 <= warmup < 1:
        raise UsageError(f"warmup must be a part of the requests, from 0 to below 1, not {warmup}")
    if cost_model is None:
        cost_model = Roofline()
    elif isinstance(cost_model, type) or not isinstance(cost_model, CostModel):
        raise TypeError(f"cost_model must have the method seconds(…), not be {cost_model!r}")
    stream, pool = _stream(workload, saturated), _pool(pool)
    if max_num_batched_tokens is None:
        max_num_batched_tokens = max(2048, max_model_len)
    engine: Engine
    if policy == "paged":
        scheduler = SchedulerConfig(
            max_num_batched_tokens,
            max_num_seqs,
            max_model_len,
            enable_chunked_prefill=enable_chunked_prefill,
            preemption_mode="swap" if samples != 1 and preemption_mode is None else preemption_mode,
        )
        cache = CacheConfig(
            block_size,
            pool.slots // block_size,
            num_cpu_blocks,
            enable_prefix_caching=enable_prefix_caching,
        )
        engine = _paged_engine(scheduler, cache, samples, fast_forward, record)
    else:
        given = {
            "enable_prefix_caching": enable_prefix_caching,
            "enable_chunked_prefill": enable_chunked_prefill,
            "samples": samples,
            "preemption_mode": preemption_mode,
            "num_cpu_blocks": num_cpu_blocks,
            "fast_forward": fast_forward,
            "record": record,
        }
        for name, value in given.items():
            if value != NO_PAGES[name]:
                hint = " (pagesim.simulation.recorded.record_max records contiguous rows)"
                raise UsageError(
                    f"{name}={value!r} is for policy='paged', not for {policy!r}"
                    + (hint if name == "record" else "")
                )
        memory = _baseline(policy, pool.slots, max_model_len)
        pool = pool if memory.pool == pool.slots else Pool(memory.pool)
        engine = BaselineEngine(memory, max_model_len, max_num_seqs, max_num_batched_tokens)
    name = policy if isinstance(policy, str) else type(policy).__name__
    log, outcomes = WasteLog(pool.slots), Outcomes(stream.requests)
    with closing(Progress(progress, len(stream), " requests", title=name)) as told:
        engine.run(stream.requests, log, outcomes, cost_model, told)
    log.check()
    log.steady(*_steady(outcomes, warmup))
    return Simulation(
        policy=name,
        workload=stream,
        pool=pool,
        block_size=block_size if policy == "paged" else None,
        waste=log,
        requests=outcomes,
        timeline=getattr(engine, "timeline", None),
    )


def _stream(
    workload: Workload | Sequence[Request] | str | os.PathLike[str], saturated: bool
) -> Workload:
    if isinstance(workload, str | os.PathLike):
        workload = load(workload)
    elif isinstance(workload, bytes) or not isinstance(workload, Iterable):
        raise TypeError(f"workload must be a Workload, Requests or a path, not {workload!r}")
    if not isinstance(workload, Workload):
        workload = Workload("requests", "given", tuple(workload))
    return workload.saturated() if saturated else workload


def _pool(pool: Pool | SupportsIndex) -> Pool:
    if isinstance(pool, Pool):
        return pool
    if isinstance(pool, bool) or not isinstance(pool, SupportsIndex):
        raise TypeError(f"pool must be a Pool or a number of slots, not {pool!r}")
    return Pool(index(pool))


def _baseline(policy: str | MemoryPolicy, pool: int, max_model_len: int) -> MemoryPolicy:
    if policy == "static":
        return StaticPolicy(pool, max_model_len)
    if policy == "token":
        return TokenPolicy(pool)
    if isinstance(policy, str) and policy in SIZINGS:
        return ContiguousPolicy(pool, max_model_len, policy)
    if isinstance(policy, str):
        raise UsageError(f"policy must be one of {', '.join(POLICIES)}, not {policy!r}")
    if isinstance(policy, type) or not isinstance(policy, MemoryPolicy):
        raise TypeError(f"policy must be a name or a MemoryPolicy, not {policy!r}")
    return policy


def _paged_engine(
    scheduler: SchedulerConfig,
    cache: CacheConfig,
    samples: int,
    fast_forward: bool | None,
    record: bool,
) -> Engine:
    reason = why_not(scheduler, cache)
    if samples != 1:
        reason = "samples that share blocks copy them when they write"
    if record:
        reason = "record=True wants every step"
    if fast_forward and reason is not None:
        raise UsageError(f"fast_forward=True cannot be: {reason}. Omit it")
    if reason is None and fast_forward is not False:
        return FastForwardEngine(scheduler, cache)
    return PagedEngine(scheduler, cache, record=record, samples=samples)


def _steady(outcomes: Outcomes, warmup: float) -> tuple[float, float]:
    """From when the part ``warmup`` of the requests is done until the last one enters memory."""
    finished = np.sort(np.array(outcomes.finished))
    entered = np.array(outcomes.first_scheduled)
    entered = entered[np.isfinite(entered)]
    finished = finished[np.isfinite(finished)]
    if not len(finished):
        return 0.0, 0.0
    first = math.ceil(warmup * len(finished))
    return float(finished[first - 1]) if first else 0.0, float(entered.max())
