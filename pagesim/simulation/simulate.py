"""`pagesim.simulate`: runs a workload through any memory policy, with the same accounting."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from pagesim.checks import check_bool, check_time
from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.simulation.baselines import MemoryPolicy
from pagesim.simulation.fast_forward_groups import FastForwardGroupsServer
from pagesim.simulation.limits import Limits
from pagesim.simulation.metrics import Meter, Metrics, to_measure
from pagesim.simulation.observed import KVEvents, Observer, Residency, to_observe
from pagesim.simulation.outcomes import LATENCIES, Outcomes
from pagesim.simulation.paged_v1_groups import PagedV1GroupsServer
from pagesim.simulation.paged_v1_tier import PagedV1TierServer
from pagesim.simulation.policy import TITLES, Policy, policy_of
from pagesim.simulation.progress import Progress, ProgressCallback, check_progress
from pagesim.simulation.report import Comparison, compare, measures
from pagesim.simulation.serving import serve
from pagesim.simulation.tier_use import TierUse
from pagesim.simulation.unpaged import Own
from pagesim.simulation.waste import WasteLog
from pagesim.simulation.waste_groups import GroupsWaste
from pagesim.sizing.cost_model import CostModel, Roofline
from pagesim.sizing.pool import Pool
from pagesim.workload.files import load
from pagesim.workload.request import Request, Workload

if TYPE_CHECKING:
    from pagesim.timeline import Timeline

PAPER_POOL = Pool(15_728, "opt-13b, 12 GiB")
"""Table 1 of the paper: 12 GiB for keys and values, at 800 KiB per token."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of a run.

    ``waste`` says how the slots were used, and ``requests`` what became of each request.
    ``timeline`` is the recorded run, or None if it was not requested. ``block_size`` is None if the
    memory is not paged. ``groups`` says what requests held in each of several groups of layers;
    then ``waste`` counts places instead of slots (see `pagesim.simulation.paged_v1_groups`).
    ``tier`` says what was copied to a second tier and back; None without one.
    ``kv_events``, ``residency`` and ``metrics`` are there if they were requested.
    """

    policy: str
    workload: Workload
    pool: Pool
    block_size: int | None
    waste: WasteLog
    requests: Outcomes
    timeline: Timeline | None = None
    groups: GroupsWaste | None = None
    tier: TierUse | None = None
    kv_events: KVEvents | None = None
    residency: Residency | None = None
    metrics: Metrics | None = None

    @property
    def title(self) -> str:
        """What a picture of this run is called; a policy of your own is called by its name."""
        return TITLES.get(self.policy, self.policy)

    @property
    def iterations(self) -> int:
        """The number of steps in which the model ran."""
        return self.waste.iterations

    @property
    def preemptions(self) -> int:
        """The number of times that a running request was preempted."""
        return self.requests.num_preemptions

    @property
    def seconds(self) -> float:
        """The time at which the last request finished, by the clock of the cost model."""
        return float(self.waste.seconds[-1]) if len(self.waste) else 0.0

    def summary(self) -> JsonObject:
        """Return the run as numbers and words that JSON can hold; None stands for NaN.

        ``waste`` has the use of the slots, in percent, and the batch, averaged over the steps of
        the steady state; ``waste_in_time`` has the same averaged over its seconds. Latencies are in
        seconds. ``output_tokens_per_s`` counts the tokens of finished requests over the whole run.
        With several groups, ``groups`` has the means of each of them, and ``lost_tokens`` are those
        that a request had to compute although some groups had them. With a second tier there are
        the ``loaded_tokens``, which are no hits, and what :meth:`TierUse.summary` returns.
        """
        done, none_ran = self.requests, self.iterations == 0
        ends = zip(self.workload, done.finished, strict=True)
        tokens = sum(request.output_tokens for request, end in ends if not math.isnan(end))
        return {
            "policy": self.policy,
            "workload": self.workload.name,
            "source": self.workload.source,
            "pool": self.pool.slots,
            "block_size": self.block_size,
            "requests": len(done),
            "finished": done.num_finished,
            "ignored": done.num_ignored,
            "stuck": done.num_stuck,
            "waits_forever": done.waits_forever,
            "preemptions": self.preemptions,
            "hit_tokens": sum(done.hits),
            "refound_tokens": sum(done.refound),
            "iterations": self.iterations,
            "seconds": self.seconds,
            "output_tokens_per_s": tokens / self.seconds if self.seconds else 0.0,
            "waste": None if none_ran else self.waste.mean(),
            "waste_in_time": None if none_ran else self.waste.time_mean(),
            "latency": {name: _finite(done.percentiles(name)) for name in LATENCIES[1:]},
            **self._only_of_some(),
        }

    def _only_of_some(self) -> JsonObject:
        """What a summary has of groups, of a second tier, and of what was observed."""
        found: JsonObject = {}
        if self.groups is not None:
            found["lost_tokens"] = sum(self.requests.lost.values())
            found["groups"] = None if self.iterations == 0 else self.groups.summary()
        if self.tier is not None:
            found["loaded_tokens"] = sum(tokens for tokens, _ in self.tier.loads.values())
            found |= self.tier.summary()
        for name in ("kv_events", "residency", "metrics"):
            if (observed := getattr(self, name)) is not None:
                found[name] = observed.summary()
        return found

    def goodput(self, *, ttft: float | None = None, tpot: float | None = None) -> float:
        """Return the requests per second that met limits on TTFT and TPOT, given in seconds.

        It covers the whole run. A request of one output token has no TPOT to exceed. Source of the
        term: DistServe, arXiv 2401.09670, section 1. UsageError unless a limit is given, above 0.
        """
        if ttft is None and tpot is None:
            raise UsageError("goodput needs a limit in seconds: ttft=0.5, tpot=0.05, or both")
        times, good = self.requests.times(), np.isfinite(self.requests.finished)
        limits = {"time_to_first_token": ("ttft", ttft), "time_per_output_token": ("tpot", tpot)}
        for latency, (name, limit) in limits.items():
            if limit is not None:
                if not check_time(name, limit) > 0:
                    raise UsageError(f"{name} must be a number of seconds above 0, not {limit}")
                good &= ~(times[latency] > limit)
        return float(good.sum() / self.seconds) if self.seconds else 0.0

    def compare(self, other: Simulation) -> Comparison:
        """Return a table of this run and another one, to print or to show in a notebook.

        Two engines on one workload differ in the number of requests that run at once, in the blocks
        they hold, in preemptions and in hits. The table has these per step and per second.
        """
        if not isinstance(other, Simulation):
            raise TypeError(f"other must be a Simulation, not {other!r} ({type(other).__name__})")
        names = (self.policy, other.policy)
        if self.policy == other.policy:
            names = (f"{self.policy} (1)", f"{other.policy} (2)")
        return compare(names, measures(self.summary()), measures(other.summary()))

    def __repr__(self) -> str:
        return (
            f"<Simulation of {self.workload.name!r}: policy {self.policy!r}, "
            f"{self.pool.slots:,} slots, {self.requests.num_finished} of {len(self.requests)} "
            f"requests finished, {self.iterations:,} iterations, {self.preemptions} preemptions>"
        )


def simulate(
    workload: Workload | Sequence[Request] | str | os.PathLike[str],
    *,
    policy: str | Policy | MemoryPolicy = "paged",
    pool: Pool | SupportsIndex = PAPER_POOL,
    limits: Limits | None = None,
    saturated: bool = False,
    cost_model: CostModel | None = None,
    warmup: float = 0.1,
    record: bool = False,
    kv_events: bool = False,
    residency: float | None = None,
    metrics: bool = False,
    progress: bool | ProgressCallback | None = None,
    **options: Any,
) -> Simulation:
    """Serve a workload, or a file of requests, and record where the memory goes.

    ``policy`` is a value: ``Paged(block_size=16, …)`` for vLLM 0.6.4.post1, ``PagedV1(…)`` for V1,
    ``Contiguous("max")``, ``Static()``, ``Token()`` (see :mod:`pagesim.simulation.policy`), or your
    own object (a :class:`pagesim.simulation.baselines.MemoryPolicy`, which has its own pool). A
    name ("paged", "v1", "max", "pow2", "oracle", "static" or "token") stands for that policy with
    its defaults. ``options`` are fields of the policy or of ``limits``, changed for this run:
    ``simulate(w, policy="paged", block_size=32)``. ``pool`` is in slots, one per token.
    ``saturated`` lets all requests arrive at once. A request is ignored and reported if it can
    never be served, because its prompt and output are longer than ``max_model_len`` or than the
    pool. In V1, a request longer than the pool waits forever instead, and so do all requests behind
    it. ``requests.why`` has the reasons.

    The means of ``waste`` are taken over the steady state: from when the fraction ``warmup`` of the
    requests is done until the last one enters memory. ``cost_model`` is the clock. ``record``
    records a timeline of every step; if the policy has no pages, each of its blocks is one slot.
    Under V1, ``kv_events`` keeps what a router would hear, and ``residency`` is the fraction of the
    blocks that are watched to tell how long blocks live. ``metrics`` keeps what vLLM's engines
    would log after each step. All three have every step computed.
    ``progress=True`` draws a bar, None draws one only on a terminal, and a function is called with
    the number of requests done and the total. UsageError or TypeError names a bad argument; files
    fail as in `load`.
    """
    _check(saturated, record, progress, warmup, cost_model, limits)
    check_bool("kv_events", kv_events)
    check_bool("metrics", metrics)
    of_limits = {one.name: options.pop(one.name) for one in fields(Limits) if one.name in options}
    limits = replace(limits or Limits(), **of_limits)
    chosen = policy_of(policy, **options)
    is_observed = kv_events or residency is not None
    if is_observed:
        chosen = to_observe(chosen, residency)
    if metrics:
        chosen = to_measure(chosen)
    stream = _stream(workload, saturated)
    whole, requests = _pool(pool, chosen), stream.requests
    server = chosen.server(whole.slots, limits, requests, record)
    by_group = isinstance(server, PagedV1GroupsServer | FastForwardGroupsServer)
    divided = server.pool if by_group else whole.slots - server.null_slots
    log = WasteLog(divided or whole.slots, server.parts)  # or there is the null block alone
    observer = Observer(server, log, kv_events, residency) if is_observed else None
    outcomes = Outcomes(requests)
    outcomes.has_groups = by_group
    meter = Meter(server, log, outcomes) if metrics else None
    clock = Roofline() if cost_model is None else cost_model
    tier = None
    if isinstance(server, PagedV1TierServer):
        server.tell(clock)
        tier = outcomes.tier = server.use
    with closing(Progress(progress, len(requests), " requests", title=chosen.name)) as report:
        serve(server, requests, log, outcomes, clock, report, meter)
    log.check()
    log.steady(*_steady(outcomes, warmup))
    block_size = getattr(chosen, "block_size", None)
    groups = None
    if isinstance(server, PagedV1GroupsServer | FastForwardGroupsServer):
        groups = GroupsWaste(server.group_names, server.layers, log, server.held)
    more = observer.result() if observer else {}
    more |= {"metrics": meter.metrics} if meter else {}
    ended = server.finish()
    if ended is not None:
        ended.notes = replace(ended.notes, clock=log.ends())
        if observer is not None:
            observer.note(ended)
    return Simulation(
        chosen.name, stream, whole, block_size, log, outcomes, ended, groups, tier, **more
    )


def _check(
    saturated: bool,
    record: bool,
    progress: bool | ProgressCallback | None,
    warmup: float,
    cost_model: CostModel | None,
    limits: Limits | None,
) -> None:
    check_bool("saturated", saturated)
    check_bool("record", record)
    check_progress(progress)
    if isinstance(warmup, bool) or not isinstance(warmup, int | float):
        raise TypeError(f"warmup must be a number, not {warmup!r} ({type(warmup).__name__})")
    if not 0 <= warmup < 1:
        raise UsageError(
            f"warmup must be a fraction of the requests, from 0 to below 1, not {warmup}"
        )
    if isinstance(cost_model, type) or not isinstance(cost_model, CostModel | None):
        raise TypeError(f"cost_model must have the method seconds(…), not be {cost_model!r}")
    if not isinstance(limits, Limits | None):
        raise TypeError(f"limits must be Limits(…), not {limits!r} ({type(limits).__name__})")


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


def _pool(pool: Pool | SupportsIndex, policy: Policy) -> Pool:
    """A pool of this size; a policy of the caller has its own."""
    if isinstance(pool, bool) or not isinstance(pool, Pool | SupportsIndex):
        raise TypeError(f"pool must be a Pool or a number of slots, not {pool!r}")
    pool = pool if isinstance(pool, Pool) else Pool(index(pool))
    if isinstance(policy, Own) and policy.given.pool != pool.slots:
        return Pool(policy.given.pool)
    return pool


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {key: value if math.isfinite(value) else None for key, value in values.items()}


def _steady(outcomes: Outcomes, warmup: float) -> tuple[float, float]:
    """From when the fraction ``warmup`` is done until the last request enters memory."""
    finished, entered = np.sort(outcomes.finished), np.array(outcomes.first_scheduled)
    num_finished = outcomes.num_finished
    if not num_finished:
        return 0.0, 0.0
    first = math.ceil(warmup * num_finished)
    return float(finished[first - 1]) if first else 0.0, float(np.nanmax(entered))
