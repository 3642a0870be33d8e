"""The fast-forward is exact: equal tables at every step, equal statistics, equal preemptions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import pytest

from pagesim.errors import UsageError
from pagesim.simulation import Outcomes, Roofline
from pagesim.simulation.fast_forward import FastForwardServer
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.serving import serve, steps
from pagesim.simulation.waste import WasteLog
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.workload import Request

pytestmark = pytest.mark.ch01
LONGEST = 60
COLUMNS = ("first_scheduled", "first_token", "finished", "preemptions", "ignored")


class Side:
    """One of the two engines, and what it writes."""

    def __init__(self, make: Any, configs: tuple[Any, Any], requests: list[Request], pool: int):
        self.log, self.outcomes = WasteLog(pool), Outcomes(requests)
        self.engine = make(*configs)
        self.full = False
        self.steps = self._steps(requests)

    def _steps(self, requests: list[Request]) -> Iterator[None]:
        try:
            yield from steps(self.engine, requests, self.log, self.outcomes, Roofline())
        except RuntimeError as error:
            assert "no CPU swap space" in str(error)
            self.full = True


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


def play_both(
    configs: tuple[Any, Any], requests: list[Request], pool: int, seed: Any
) -> tuple[int, int]:
    """Both engines side by side; returns the preemptions and the steps with swapped requests."""
    stepped, fast = (
        Side(make, configs, requests, pool) for make in (PagedServer, FastForwardServer)
    )
    swapped = 0
    for step, ends in enumerate(zip_longest(stepped.steps, fast.steps, fillvalue="over")):
        assert ends == (None, None), f"seed {seed}: one engine ends after {step} steps"
        assert stepped.engine.tables() == fast.engine.tables(), (seed, step)
        assert stepped.log.at(-1) == fast.log.at(-1), (seed, step)
        swapped += bool(stepped.engine.scheduler.swapped)
    assert stepped.full == fast.full, seed
    stepped.log.check()
    assert len(stepped.log) == len(fast.log)
    assert (stepped.log.seconds == fast.log.seconds).all()
    for column in COLUMNS if not stepped.full else ():
        found, expected = getattr(fast.outcomes, column), getattr(stepped.outcomes, column)
        assert bytes(found) == bytes(expected), (seed, column)
    return stepped.outcomes.num_preemptions, swapped


def test_the_same_run_step_by_step() -> None:
    played = [play_both(*random_case(seed), seed) for seed in range(600)]
    preemptions, swapped = map(sum, zip(*played, strict=True))
    assert preemptions > 100  # or the cases would be too easy
    assert swapped > 100


@pytest.mark.parametrize("mode", ["recompute", "swap"])
def test_several_that_are_preempted_in_one_step(mode: str) -> None:
    """Six need a second block at once and none is free: three older ones take the others'."""
    requests = [Request(str(i), 0.0, 4, 8) for i in range(6)]
    configs = SchedulerConfig(64, 8, 64, preemption_mode=mode), CacheConfig(4, 6, 60)
    preemptions, _ = play_both(configs, requests, 24, mode)
    assert preemptions > 3


@pytest.mark.parametrize("make", [PagedServer, FastForwardServer])
def test_no_room_on_the_cpu_is_an_error_in_both(make: Any) -> None:
    requests = [Request(str(i), 0.0, 8, 20) for i in range(4)]
    configs = SchedulerConfig(64, 8, 64, preemption_mode="swap"), CacheConfig(4, 12, 1)
    side = Side(make, configs, requests, 48)
    with pytest.raises(RuntimeError, match=r"no CPU swap space .* 1 CPU blocks are free"):
        serve(side.engine, requests, side.log, side.outcomes, Roofline())


@pytest.mark.parametrize(
    ("scheduler", "cache", "reason"),
    [
        ({}, {"enable_prefix_caching": True}, "prefix caching"),
        ({}, {"sliding_window": 8}, "sliding window"),
        ({"enable_chunked_prefill": True}, {}, "chunked prefill"),
        ({"num_lookahead_slots": 1}, {}, "lookahead"),
    ],
)
def test_what_must_be_stepped_says_why(
    scheduler: dict[str, Any], cache: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        FastForwardServer(SchedulerConfig(64, 8, 64, **scheduler), CacheConfig(4, 12, **cache))


@pytest.mark.parametrize("make", [PagedServer, FastForwardServer])
def test_a_prompt_must_fit_into_a_step(make: Any) -> None:
    with pytest.raises(UsageError, match=r"\(32\) must be at least max_model_len \(64\)"):
        make(SchedulerConfig(32, 8, 64), CacheConfig(4, 12))
