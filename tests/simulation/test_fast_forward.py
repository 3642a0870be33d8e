"""The fast-forward is exact: equal tables at every step, equal statistics, equal preemptions."""

import os
import random
from typing import Any

import pytest

from pagesim import v1
from pagesim.errors import UsageError
from pagesim.simulation import Roofline
from pagesim.simulation.fast_forward import FastForwardServer
from pagesim.simulation.fast_forward_v1 import FastForwardV1Server
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.serving import serve
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload import Request
from tests.simulation.two_servers import Side, play_both

LONGEST = 60
BOTH = (PagedServer, FastForwardServer)
STREAMS = int(os.environ.get("PAGESIM_STREAMS", "200"))


def random_case(seed: int) -> tuple[tuple[Any, Any], list[Request], int]:
    """A stream in which there is too little of everything now and then."""
    r = random.Random(seed)
    requests, now = [], 0.0
    for i in range(r.randint(1, 25)):
        now += r.choice([0, 0, 0.02, 1.0])
        output = r.choice([1, 1, 2, r.randint(1, 40)])
        requests.append(Request(str(i), now, r.randint(1, 30), output))
    block_size, num_blocks = r.choice([1, 2, 4, 16]), r.randint(3, 40)
    mode = r.choice([None, "swap", "swap", "recompute"])
    scheduler = SchedulerConfig(
        r.choice([LONGEST, 100]), r.choice([1, 3, 8, 20]), LONGEST, preemption_mode=mode
    )
    watermark = r.choice([0.0, 0.01, 0.1, 0.3])
    num_cpu = r.choice([200, 200, r.randint(1, 12)])
    cache = CacheConfig(block_size, num_blocks, num_cpu, watermark=watermark)
    return (scheduler, cache), requests, num_blocks * block_size + r.choice([0, 3])


def test_the_same_run_step_by_step() -> None:
    played = [play_both(BOTH, *random_case(seed), seed) for seed in range(STREAMS)]
    # Or the cases would be too easy:
    assert sum(outcomes.num_preemptions for outcomes, _ in played) > STREAMS / 6
    assert sum(swapped for _, swapped in played) > STREAMS / 6


@pytest.mark.parametrize("make", [PagedServer, FastForwardServer])
def test_no_room_on_the_cpu_is_an_error_in_both(make: Any) -> None:
    requests = [Request(str(i), 0.0, 8, 20) for i in range(4)]
    configs = SchedulerConfig(64, 8, 64, preemption_mode="swap"), CacheConfig(4, 12, 1)
    side = Side(make, configs, requests, 48)
    with pytest.raises(RuntimeError, match=r"no CPU swap space .* 1 CPU blocks are free"):
        serve(side.engine, requests, side.log, side.outcomes, Roofline())


V0 = (FastForwardServer, SchedulerConfig, CacheConfig)
V1 = (FastForwardV1Server, v1.SchedulerConfig, v1.CacheConfig)


@pytest.mark.parametrize(
    ("engine", "scheduler", "cache", "reason"),
    [
        (V0, {}, {"enable_prefix_caching": True}, "prefix caching"),
        (V0, {}, {"sliding_window": 8}, "sliding window"),
        (V0, {"enable_chunked_prefill": True}, {}, "chunked prefill"),
        (V0, {"num_lookahead_slots": 1}, {}, "lookahead"),
        (V0, {"policy": "priority"}, {}, "first come, first served, without a delay"),
        (V0, {"delay_factor": 0.5}, {}, "first come, first served, without a delay"),
        (V1, {"async_scheduling": True}, {}, "asynchronously"),
        (V1, {}, {"sliding_window": 8}, "sliding window"),
        (V1, {"policy": "priority"}, {}, "first come, first served"),
        (V1, {"long_prefill_token_threshold": 8}, {}, "long_prefill_token_threshold"),
        (V1, {"scheduler_reserve_full_isl": False}, {}, "scheduler_reserve_full_isl"),
    ],
)
def test_what_must_be_stepped_says_why(
    engine: Any, scheduler: dict[str, Any], cache: dict[str, Any], reason: str
) -> None:
    server, scheduling, caching = engine
    with pytest.raises(UsageError, match=f"fast_forward=True is not possible here: .*{reason}"):
        server(scheduling(64, 8, 64, **scheduler), caching(4, 12, **cache))


@pytest.mark.parametrize("make", [PagedServer, FastForwardServer])
def test_a_prompt_must_fit_into_a_step(make: Any) -> None:
    with pytest.raises(UsageError, match=r"\(32\) must be at least max_model_len \(64\)"):
        make(SchedulerConfig(32, 8, 64), CacheConfig(4, 12))
