"""The gaps between tokens, against an account of every token that the test keeps itself."""

import os
import random
from typing import Any

import numpy as np
import pytest

from pagesim.simulation import Limits, Outcomes, Roofline, simulate
from pagesim.simulation.fast_forward import FastForwardServer
from pagesim.simulation.fast_forward_v1 import FastForwardV1Server
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.paged_v1 import PagedV1Server
from pagesim.simulation.serving import serve, steps
from pagesim.simulation.waste import WasteLog
from pagesim.v0.config import CacheConfig as CacheConfigV0
from pagesim.v0.config import SchedulerConfig as SchedulerConfigV0
from pagesim.v1 import CacheConfig, SchedulerConfig
from pagesim.workload import Request

LONGEST = 60
STREAMS = int(os.environ.get("PAGESIM_STREAMS", "40"))


class Counting(PagedServer):
    """V0, with the rows whose sequences got longer in the step."""

    grown: list[int]

    def commit(self, *given: Any) -> tuple[list[int], list[int]]:
        groups = [each.seq_group for each in self._now[1].scheduled_seq_groups]
        before = [(group, len(group.seqs[0].data.token_ids)) for group in groups]
        ends = super().commit(*given)
        self.grown = [
            group.sampling_params.row
            for group, length in before
            if len(group.seqs[0].data.token_ids) > length
        ]
        return ends


class CountingV1(PagedV1Server):
    """V1, with the same."""

    grown: list[int]

    def commit(self, *given: Any) -> tuple[list[int], list[int]]:
        before = [(each, each.num_tokens) for each in self.scheduler.requests.values()]
        ends = super().commit(*given)
        self.grown = [each.request_id for each, length in before if each.num_tokens > length]
        return ends


def stepped_through(server: Any, requests: list[Request]) -> tuple[Outcomes, list[float]]:
    """The outcomes, and the gaps of those that were never preempted, from every single token."""
    log, outcomes = WasteLog(10**6, server.parts), Outcomes(requests)
    times: dict[int, list[float]] = {row: [] for row in range(len(requests))}
    for _ in steps(server, requests, log, outcomes, Roofline()):
        for row in server.grown:
            times[row].append(log.at(-1).seconds)
    gaps = []
    for row, request in enumerate(requests):
        if len(times[row]) == request.output_tokens and not outcomes.preemptions[row]:
            gaps += np.diff(times[row]).tolist()
    return outcomes, gaps


def stream(r: random.Random) -> list[Request]:
    apart = r.choice([0.0, 0.0, 0.05, 0.3])
    return [
        Request(str(i), apart * i, r.randint(1, 30), r.randint(1, 30))
        for i in range(r.randint(2, 12))
    ]


def v0_cases(seed: int) -> tuple[Any, list[Request], bool]:
    r = random.Random(seed)
    chunked = r.random() < 0.3
    mode = r.choice([None, "swap", "recompute"])
    config = SchedulerConfigV0(
        12 if chunked else LONGEST,
        r.choice([3, 8]),
        LONGEST,
        enable_chunked_prefill=chunked,
        preemption_mode=mode,
    )
    cache = CacheConfigV0(4, r.randint(16, 40), 200, watermark=0.0)
    return (config, cache), stream(r), not chunked


def v1_cases(seed: int) -> tuple[Any, list[Request], bool]:
    r = random.Random(seed)
    threshold, asynchronous = r.choice([0, 0, 3]), r.random() < 0.3
    config = SchedulerConfig(
        r.choice([8, 16, 60]),
        r.choice([3, 8]),
        LONGEST,
        long_prefill_token_threshold=threshold,
        long_prefill_token_threshold_adaptive=r.random() < 0.5,
        scheduler_reserve_full_isl=r.random() < 0.8,
        async_scheduling=asynchronous,
    )
    cache = CacheConfig(4, r.randint(16, 40), enable_prefix_caching=r.random() < 0.5)
    can_forward = not (threshold or asynchronous) and config.scheduler_reserve_full_isl
    return (config, cache), stream(r), can_forward


@pytest.mark.parametrize(
    ("cases", "stepped", "fast"),
    [(v0_cases, Counting, FastForwardServer), (v1_cases, CountingV1, FastForwardV1Server)],
)
def test_they_are_those_of_requests_that_were_never_preempted(
    cases: Any, stepped: Any, fast: Any
) -> None:
    preempted = forwarded = 0
    for seed in range(STREAMS):
        configs, requests, can_forward = cases(seed)
        outcomes, expected = stepped_through(stepped(*configs), requests)
        assert outcomes.latency("inter_token").tolist() == expected, seed
        preempted += outcomes.num_preemptions > 0
        if can_forward:
            again = Outcomes(requests)
            serve(fast(*configs), requests, WasteLog(10**6), again, Roofline())
            assert again.latency("inter_token").tolist() == expected, seed
            forwarded += 1
    assert min(preempted, forwarded) > 0.16 * STREAMS, "or the cases would be too easy"


@pytest.mark.parametrize("policy", ["max", "oracle", "static", "token"])
def test_without_pages_a_token_comes_in_every_iteration(policy: str) -> None:
    for seed in range(10):
        requests = stream(random.Random(seed))
        run = simulate(requests, policy=policy, pool=200, limits=Limits(LONGEST, 3), progress=False)
        ends = run.waste.seconds[run.waste.column("batch") > 0].tolist()
        gaps = []
        for row, request in enumerate(requests):
            first = ends.index(run.requests.first_token[row])
            gaps += np.diff(ends[first : first + request.output_tokens]).tolist()
        assert run.requests.latency("inter_token").tolist() == gaps, seed
