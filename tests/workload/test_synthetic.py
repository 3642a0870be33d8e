"""Seeded streams: the asked means and spreads, the same stream from the same seed."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from pagesim import workload
from pagesim.errors import UsageError
from pagesim.workload import Workload

PAPER = (161.31, 1.3, 337.99, 0.87)


def lengths(stream: Workload) -> np.ndarray:
    return np.array([(request.prompt_tokens, request.output_tokens) for request in stream])


@pytest.mark.parametrize("kind", [workload.gamma, workload.lognormal])
def test_means_and_spreads_are_the_asked_ones(kind: Callable[..., Workload]) -> None:
    drawn = lengths(kind(20_000, *PAPER, seed=5, max_len=1_000_000))
    assert drawn.mean(axis=0) == pytest.approx([161.31, 337.99], rel=0.02)
    assert drawn.std(axis=0) / drawn.mean(axis=0) == pytest.approx([1.3, 0.87], rel=0.04)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.02


def test_gamma_and_lognormal_are_two_shapes() -> None:
    """The median of a lognormal length is mean ÷ √(1 + CV²); a gamma of CV 1 has mean · ln 2."""
    medians = {
        kind: np.median(lengths(kind(10_000, 500, 1, 500, 1, seed=0, max_len=100_000))[:, 0])
        for kind in (workload.gamma, workload.lognormal)
    }
    assert medians[workload.gamma] == pytest.approx(500 * math.log(2), rel=0.03)
    assert medians[workload.lognormal] == pytest.approx(500 / math.sqrt(2), rel=0.02)


def test_lengths_are_cut_to_what_the_model_holds() -> None:
    drawn = lengths(workload.lognormal(5000, 60, 2, 60, 2, seed=0, max_len=100))
    assert drawn.min() == 1
    assert drawn.sum(axis=1).max() == 100
    assert (drawn.sum(axis=1) == 100).mean() > 0.2


def test_no_spread_makes_all_lengths_equal() -> None:
    for kind in (workload.gamma, workload.lognormal):
        assert np.array_equal(np.unique(lengths(kind(50, 30, 0, 7, 0)), axis=0), [[30, 7]])


PINNED = {
    workload.paper_sharegpt: (171693, 356806, 497.6160882232459, [(293, 803), (124, 1924)]),
    workload.paper_alpaca: (20700, 61950, 33.174405881549696, [(35, 139), (15, 363)]),
    workload.sharegpt_like: (139779, 472836, 517.6685623733686, [(30, 778), (197, 340)]),
    workload.azure_conv_like: (1168142, 217806, 184.64426308411603, [(409, 97), (1328, 202)]),
    workload.mooncake_like: (13698017, 358546, 336.05438185995405, [(4624, 1), (17873, 925)]),
}


@pytest.mark.parametrize("stream", PINNED, ids=lambda stream: stream.__name__)
def test_a_seed_gives_the_stream_that_it_gave_on_other_versions_of_numpy(
    stream: Callable[..., Workload],
) -> None:
    drawn = stream(1000, seed=7)
    prompts, outputs, last, head = PINNED[stream]
    assert lengths(drawn).sum(axis=0).tolist() == [prompts, outputs]
    assert drawn[-1].arrival_s == pytest.approx(last, rel=1e-12)
    assert lengths(drawn)[:2].tolist() == [list(pair) for pair in head]
    assert stream(1000, seed=8).requests != drawn.requests
    assert stream(300, seed=7).requests == drawn.requests[:300]


def test_the_lognormal_stream_is_pinned_too() -> None:
    drawn = lengths(workload.lognormal(1000, *PAPER, seed=7))
    assert drawn.sum(axis=0).tolist() == [152291, 354029]
    assert drawn[:2].tolist() == [[53, 730], [422, 484]]


def test_a_rate_of_none_has_all_arrive_at_once_and_a_number_spaces_them() -> None:
    assert workload.paper_sharegpt(50, rate=None)[-1].arrival_s == 0
    assert workload.sharegpt_like(2000, rate=40.0).requests_per_s == pytest.approx(40, rel=0.08)
    assert workload.paper_sharegpt(2000).requests_per_s == pytest.approx(2, rel=0.08)
    assert workload.paper_alpaca(2000).requests_per_s == pytest.approx(30, rel=0.08)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be at least 1"),
        ({"prompt_mean": 0.5}, "prompt_mean must be at least 1 and finite, not 0.5"),
        ({"output_mean": math.inf}, "output_mean must be at least 1 and finite, not inf"),
        ({"prompt_cv": -1}, "prompt_cv must be at least 0 and finite, not -1"),
        ({"output_cv": math.nan}, "output_cv must be a time|output_cv must be"),
        ({"rate": 0}, "requests_per_s must be more than 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"max_len": 1}, "max_len must be at least 2"),
    ],
)
def test_an_argument_that_cannot_be(arguments: dict, message: str) -> None:
    good = {"n": 5, "prompt_mean": 9, "prompt_cv": 1, "output_mean": 9, "output_cv": 1}
    with pytest.raises(UsageError, match=message):
        workload.gamma(**good | arguments)
