"""Requests and workloads: what they refuse, and the streams that are made from one."""

import math
from collections.abc import Sequence
from itertools import pairwise

import pytest

from pagesim.errors import UsageError
from pagesim.workload import Request, Workload

STREAM = Workload(
    "three",
    "made up",
    (Request("a", 0.0, 10, 1), Request("b", 1.0, 20, 5), Request("c", 4.0, 600, 3, (7, 8))),
)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"prompt_tokens": 0}, UsageError, "prompt_tokens must be at least 1, not 0"),
        ({"output_tokens": -3}, UsageError, "output_tokens must be at least 1, not -3"),
        ({"prompt_tokens": 2.0}, TypeError, "prompt_tokens must be an int, not 2.0"),
        ({"arrival_s": -0.5}, UsageError, "arrival_s must be at least 0 and finite, not -0.5"),
        ({"arrival_s": math.nan}, UsageError, "arrival_s must be a time, not nan"),
        ({"arrival_s": math.inf}, UsageError, "arrival_s must be at least 0 and finite, not inf"),
        ({"hash_ids": (1, 2)}, UsageError, "hash_ids must be 1 ids, one per 512 of 9"),
        ({"hash_ids": (1,), "hash_block_tokens": 8}, UsageError, "must be 2 ids, one per 8 of 9"),
        ({"hash_block_tokens": 0}, UsageError, "hash_block_tokens must be at least 1, not 0"),
    ],
)
def test_a_request_that_cannot_be(changes: dict, error: type, message: str) -> None:
    fields = {"request_id": "x", "arrival_s": 0.0, "prompt_tokens": 9, "output_tokens": 1}
    with pytest.raises(error, match=message):
        Request(**fields | changes)


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ((), "'w' must have at least one request"),
        ((Request("a", 2, 1, 1), Request("b", 1, 1, 1)), "sorted by arrival_s: 'b' at 1 s follows"),
        ((Request("a", 2, 1, 1), Request("a", 2, 1, 1)), "two requests 'a'"),
        (
            (
                Request("a", 0, 9, 1),
                Request("b", 0, 9, 1, (5,)),
                Request("c", 0, 9, 1, (5,), (), 16),
            ),
            "hash ids for 512 tokens in 'b' and for 16 in 'c'",
        ),
    ],
)
def test_a_workload_that_cannot_be(requests: tuple[Request, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Workload("w", "made up", requests)


def test_it_is_a_sequence_whose_slices_are_workloads() -> None:
    assert isinstance(STREAM, Sequence)
    assert [request.request_id for request in STREAM] == ["a", "b", "c"]
    assert STREAM[-1].hash_ids == (7, 8)
    assert STREAM[1:] == Workload("three", "made up", STREAM.requests[1:])
    assert STREAM.first(2).requests == STREAM.requests[:2]
    assert STREAM.first(99) == STREAM
    with pytest.raises(UsageError, match="n must be at least 1, not 0"):
        STREAM.first(0)


def test_means_and_pace() -> None:
    assert (STREAM.mean_prompt, STREAM.mean_output) == (210, 3)
    assert STREAM.requests_per_s == 0.5
    assert STREAM.summary() == (
        "three: 3 requests, on average 210.00 prompt and 3.00 output tokens, 0.5 requests/s"
    )


def test_saturated_changes_the_arrivals_alone() -> None:
    saturated = STREAM.saturated()
    assert [request.arrival_s for request in saturated] == [0, 0, 0]
    assert [r.hash_ids for r in saturated] == [(), (), (7, 8)]
    assert [r.prompt_tokens for r in saturated] == [10, 20, 600]
    assert saturated.requests_per_s == math.inf
    assert "all at once" in saturated.summary()


def test_a_poisson_process_has_the_rate_and_gaps_of_its_own_size() -> None:
    requests = [Request(str(i), 0.0, i + 1, 1) for i in range(4000)]
    paced = Workload("w", "made up", tuple(requests)).at_rate(5, seed=1)
    assert [r.prompt_tokens for r in paced] == list(range(1, 4001))
    gaps = [b.arrival_s - a.arrival_s for a, b in pairwise(paced)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert mean == pytest.approx(1 / 5, rel=0.03)
    assert deviation / mean == pytest.approx(1, rel=0.05)
    assert paced == Workload("w", "made up", tuple(requests)).at_rate(5, seed=1)
    assert paced[0] != Workload("w", "made up", tuple(requests)).at_rate(5, seed=2)[0]


@pytest.mark.parametrize("rate", [0, -1, math.nan, math.inf])
def test_a_rate_that_is_none(rate: float) -> None:
    with pytest.raises(UsageError, match="requests_per_s must be"):
        STREAM.at_rate(rate, seed=0)
