"""Latencies from times that are written by hand, and the clock of the cost model."""

import math

import pytest

from pagesim.errors import UsageError
from pagesim.simulation import Outcomes, Roofline
from pagesim.workload import Request


def two_done_and_one_ignored() -> Outcomes:
    outcomes = Outcomes(
        [Request("a", 1.0, 5, 4), Request("b", 2.0, 5, 10), Request("c", 3.0, 9, 9)]
    )
    for row, start, token, end in ((0, 1.5, 2.0, 3.0), (1, 4.0, 5.0, 12.0)):
        outcomes.schedule(row, start)
        outcomes.answer(row, token)
        outcomes.finish(row, end)
    outcomes.ignore(2)
    return outcomes


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("queueing", [0.5, 2.0]),
        ("time_to_first_token", [1.0, 3.0]),
        ("end_to_end", [2.0, 10.0]),
        ("normalized", [0.5, 1.0]),
    ],
)
def test_latencies_of_those_who_finished(name: str, values: list[float]) -> None:
    outcomes = two_done_and_one_ignored()
    assert list(outcomes.latency(name)) == values
    found = outcomes.percentiles(name, of=(0, 50, 100))
    low, high = values
    assert found == {"mean": (low + high) / 2, "p0": low, "p50": (low + high) / 2, "p100": high}


def test_counts() -> None:
    outcomes = two_done_and_one_ignored()
    outcomes.preempt(1)
    outcomes.preempt(1)
    assert (len(outcomes), outcomes.num_finished, outcomes.num_ignored) == (3, 2, 1)
    assert outcomes.num_preemptions == 2
    assert list(outcomes.preemptions) == [0, 2, 0]


def test_only_the_first_start_and_the_first_token_count() -> None:
    outcomes = two_done_and_one_ignored()
    outcomes.schedule(0, 9.0)
    outcomes.answer(0, 9.0)
    assert (outcomes.first_scheduled[0], outcomes.first_token[0]) == (1.5, 2.0)


def test_nothing_finished_has_no_latency() -> None:
    found = Outcomes([Request("a", 0.0, 1, 1)]).percentiles()
    assert all(math.isnan(value) for value in found.values())
    assert list(found) == ["mean", "p50", "p90", "p99"]


def test_an_unknown_latency_is_named() -> None:
    with pytest.raises(
        UsageError, match="no such latency: 'ttft'; there are queueing, time_to_first_token"
    ):
        two_done_and_one_ignored().latency("ttft")


def test_a_small_batch_waits_for_the_weights_and_a_long_prompt_for_the_arithmetic() -> None:
    """OPT-13B on an A100: 26 GB of weights, 800 KiB a token, 1,555 GB/s, and 32 GB/s for PCIe."""
    clock, token = Roofline(), 800 * 1024
    weights = 26e9 / 1.555e12
    assert clock.seconds(0, 1, 0) == pytest.approx(weights)
    assert clock.seconds(100, 8, 0) == pytest.approx(weights)
    assert clock.seconds(2000, 48, 0) == pytest.approx(2048 * 26e9 / 312e12)
    assert clock.seconds(4000, 0, 0) == pytest.approx(4000 * 26e9 / 312e12)
    moved = 1000 * token / 1.555e12 + 16 * token / 32e9
    assert clock.seconds(0, 3, 1000, 16) == pytest.approx(weights + moved)
    assert Roofline(overhead_seconds=1.0).seconds(0, 1, 0) == pytest.approx(weights + 1)


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan])
def test_a_machine_has_speeds_above_zero(value: float) -> None:
    with pytest.raises(UsageError, match="flops_per_second must be a number above 0"):
        Roofline(flops_per_second=value)
