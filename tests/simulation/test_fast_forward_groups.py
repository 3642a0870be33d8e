"""With groups, the fast-forward is exact: the tables of all groups at every step, and all else."""

import os
import random
from typing import Any

import pytest

from pagesim.errors import UsageError
from pagesim.simulation import PagedV1, simulate
from pagesim.simulation.fast_forward_groups import FastForwardGroupsServer
from pagesim.simulation.paged_v1_groups import PagedV1GroupsServer
from pagesim.v1 import CacheConfig, FullAttentionSpec, SchedulerConfig, SlidingWindowSpec
from pagesim.workload import Request, sharegpt_like
from tests.simulation.test_fast_forward_v1 import LONGEST, random_stream
from tests.simulation.two_servers import play_both

STREAMS = int(os.environ.get("PAGESIM_STREAMS", "30"))
LAYERS = (4, 3, 2)


class AllTables:
    """Shows the tables of all groups, and what they hold, where one table is expected."""

    layers: tuple[int, ...]
    held: Any
    tables_of: Any

    def tables(self) -> Any:
        held = self.held[-3 * len(self.layers) :].tolist()
        return [self.tables_of(group) for group in range(len(self.layers))], held


class Stepped(AllTables, PagedV1GroupsServer):
    def __init__(self, scheduler: SchedulerConfig, cache: CacheConfig) -> None:
        layers = LAYERS[: len(cache.groups or ())]
        PagedV1GroupsServer.__init__(self, scheduler, cache, False, layers)


class Forwarded(AllTables, FastForwardGroupsServer):
    def __init__(self, scheduler: SchedulerConfig, cache: CacheConfig) -> None:
        layers = LAYERS[: len(cache.groups or ())]
        FastForwardGroupsServer.__init__(self, scheduler, cache, layers)


def random_case(seed: int) -> tuple[tuple[Any, Any], list[Request], int]:
    r = random.Random(seed)
    size, seats = r.choice([1, 4, 16, 16, 32]), r.choice([2, 5, 10, 20])
    requests = random_stream(r)
    budget, chunks = r.choice([seats, max(seats, 16), 40, 200, 512]), r.random() < 0.7
    longest = LONGEST if chunks else min(LONGEST, budget)
    scheduler = SchedulerConfig(
        budget,
        seats,
        longest,
        enable_chunked_prefill=chunks,
        watermark=r.choice([0.0, 0.0, 0.05, 0.2]),
    )
    windows = [SlidingWindowSpec(size, sliding_window=r.choice([1, 7, 16, 50])) for _ in range(2)]
    groups = r.choice([[FullAttentionSpec(size), *windows], windows, [windows[0]] * 2])
    groups = groups if r.random() < 0.8 else [*groups[:1], FullAttentionSpec(size)]
    most = max(each.total_tokens for each in requests) // size * len(groups)
    num_blocks = 1 + max(1, round(most * r.choice([0.4, 0.7, 1, 1.2, 2])) + r.choice([-1, 1, 2, 4]))
    cache = CacheConfig(num_gpu_blocks=num_blocks, groups=groups, enable_prefix_caching=False)
    return (scheduler, cache), requests, num_blocks * size


def test_the_same_run_step_by_step() -> None:
    seen = {"preempted": 0, "stuck": 0, "finished": 0}
    for seed in range(STREAMS):
        outcomes, _ = play_both((Stepped, Forwarded), *random_case(seed), seed)
        seen["preempted"] += outcomes.num_preemptions
        seen["stuck"] += outcomes.num_stuck
        seen["finished"] += outcomes.num_finished
    assert min(seen.values()) > 10, seen  # or the cases would be too easy


def test_a_simulation_is_the_same_and_has_the_same_groups() -> None:
    stream = sharegpt_like(60, seed=3)
    policy = {"groups": "full,window:64*2", "enable_prefix_caching": False}
    runs = [
        simulate(stream, policy=PagedV1(**policy, fast_forward=on), pool=6000, progress=False)  # type: ignore[arg-type]
        for on in (True, False)
    ]
    assert runs[0].summary() == runs[1].summary()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"groups": "full*2"}, "prefix caching"),
        ({"groups": "full,mamba", "enable_prefix_caching": False}, "states"),
        ({"groups": "full,window:9/32", "enable_prefix_caching": False}, "block sizes"),
        ({"groups": "full*2", "async_scheduling": True, "enable_prefix_caching": False}, "async"),
    ],
)
def test_what_must_be_stepped_is_refused_by_name(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        simulate(sharegpt_like(2), policy=PagedV1(**fields, fast_forward=True), progress=False)
    assert simulate(sharegpt_like(2), policy=PagedV1(**fields), progress=False).iterations
