"""3.1: attention in one pass over the scores."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises.ch03.looks import OneByOne
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.exercises.values import close

INF = math.inf


def attend_one_pass(scores: list[float], values: list[list[float]]) -> list[float]:
    """The average of the values, weighted by the softmax of their scores, in one pass.

    scores: [n] floats, some of them may be -inf (weight 0), not all; values: [n][d] floats.
    """
    m, ell, acc = -math.inf, 0.0, [0.0] * len(values[0])
    for score, value in zip(scores, values, strict=True):
        ### BEGIN SOLUTION
        if score == -math.inf:
            continue
        new_m = max(m, score)
        rescale, weight = math.exp(m - new_m), math.exp(score - new_m)
        ell = ell * rescale + weight
        acc = [a * rescale + weight * x for a, x in zip(acc, value, strict=True)]
        m = new_m
        ### END SOLUTION
    return [a / ell for a in acc]


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """One score, two, large and small ones, -inf in each place; then random ones."""
    d = 3 if hidden else 2
    yield _case([0.0], d, "one score")
    yield _case([1.0, 1.0], d, "equal scores")
    yield _case([2.0, 1.0], d, "the maximum stays")
    yield _case([1.0, 2.0], d, "the maximum rises")
    yield _case([1.0, 3.0, 2.0, 5.0], d, "the maximum rises")
    yield _case([-1.0, -2.0], d, "all scores below 0")
    yield _case([-1000.0, -999.0], d, "far below 0")
    yield _case([1000.0, 999.0], d, "scores of 1000")
    yield _case([-1000.0, 1000.0, 0.0], d, "scores of 1000")
    yield _case([1.0, -INF], d, "-inf after a score")
    yield _case([-INF, 1.0], d, "-inf before every score")
    yield _case([-INF, -1000.0, -INF, 2.0], d, "-inf before every score")
    for _ in range(30):
        some = [rng.choice((-INF, _score(rng, 9), _score(rng, 999))) for _ in range(12)]
        yield _case([*some, _score(rng, 5)], d, "many scores")


def _score(rng: random.Random, largest: int) -> float:
    """A number that float32 has as well."""
    return rng.randint(-8 * largest, 8 * largest) / 8


def _case(scores: list[float], d: int, tag: str) -> Case:
    values = [[float(10 * i + j + 1) for j in range(d)] for i in range(len(scores))]
    return Case((scores, values), tag=tag)


def call(function: Callable[..., Any], case: Case) -> Any:
    """The student gets scores that can be read once."""
    scores, values = case.args
    return function(OneByOne(scores), values)


def expected(scores: list[float], values: list[list[float]]) -> Any:
    """`kernels.reference`, which takes the maximum first: these scores are its query times keys."""
    import numpy as np

    from pagesim.kernels.reference import gather_attention

    n, d = np.shape(values)
    keys = np.zeros((n, d))
    keys[:, 0] = scores
    query = np.zeros((1, 1, d))
    query[0, 0, 0] = 1.0
    k, v = (np.reshape(rows, (1, n, 1, d)) for rows in (keys, np.array(values)))
    with np.errstate(invalid="ignore"):
        out = gather_attention(query, k, v, np.array([[0]]), np.array([n]), scale=1.0)
    return out[0, 0].tolist()


def why(case: Case, yours: Any, right: Any) -> str:
    """What the state must be relative to, by the kind of case."""
    said = {
        "one score": "One score has all the weight: the answer is its value.",
        "equal scores": "Equal scores have equal weights, and ell is the sum of them.",
        "the maximum stays": "A score below the maximum weighs exp(score - m), less than 1.",
        "the maximum rises": (
            "When the maximum rises from m to new_m, ell AND acc are relative to the old one: both "
            "are multiplied by exp(m - new_m)."
        ),
        "far below 0": (
            "m begins at -inf, for scores may all be far below 0: relative to 0 each of these "
            "weights is 0."
        ),
        "scores of 1000": "exp(1000) is too large for a float: subtract the maximum first.",
        "-inf after a score": "A score of -inf has weight 0: it changes nothing.",
        "-inf before every score": (
            "-inf - (-inf) is NaN: as long as there is no finite maximum, there is nothing to "
            "shift by and nothing to keep."
        ),
    }
    rule = "ell is the sum of exp(score - m), acc the same sum of exp(score - m) * value."
    return said.get(case.tag, rule)


EXERCISE = Exercise(
    number="3.1",
    title="Attention in one pass",
    stars=1,
    statement="""\
The scores come one after the other, and there is no second look: `scores` can be read once, from
the first to the last. Finish `attend_one_pass(scores, values)`. Its state is that of section 2, for
what was seen so far: `m` the largest score, `ell` the sum of exp(score - m), and `acc`, a list, the
sum of exp(score - m) times value. At the end `acc / ell` is the average of the values, weighted by
the softmax of their scores.

`scores` has n floats, `values` n lists of d floats. Scores may be ±1000. A score of
`-math.inf` has weight 0, which is how a mask leaves keys out; at least one score is finite.

`attend_one_pass([0.0, 0.0], [[1.0, 4.0], [3.0, 0.0]])` is `[2.0, 2.0]`.""",
    reference=attend_one_pass,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "acc_not_rescaled": Wrong(
            variant(attend_one_pass, "a * rescale + weight", "a + weight"),
            "Only the sum is relative to the maximum.",
            "the maximum rises",
        ),
        "ell_not_rescaled": Wrong(
            variant(attend_one_pass, "ell * rescale + weight", "ell + weight"),
            "What has been added up stays as it is.",
            "the maximum rises",
        ),
        "no_shift": Wrong(
            variant(attend_one_pass, "new_m = max(m, score)", "m = new_m = 0.0"),
            "exp(score) is a number like any other.",
            "far below 0",
        ),
        "starts_at_0": Wrong(
            variant(attend_one_pass, "ell, acc = -math.inf, 0.0", "ell, acc = 0.0, 0.0"),
            "The largest score so far begins at 0, as a sum does.",
            "far below 0",
        ),
        "minus_inf_like_any_other": Wrong(
            variant(attend_one_pass, "if score == -math.inf:", "if score is None:"),
            "exp(-inf) is 0, so a score of -inf needs no care.",
            "-inf before every score",
        ),
    },
    hints=(
        "What are ell and acc relative to? What happens to both when that changes?",
        "new_m = max(m, score). Everything so far is multiplied by exp(m - new_m); the new score "
        "weighs exp(score - new_m).",
        "ell = ell * r + w, and each a of acc becomes a * r + w * x, with r = exp(m - new_m) and "
        "w = exp(score - new_m); then m = new_m. Skip a score of -inf before all this.",
    ),
    vllm=(
        "csrc/attention/attention_kernels.cuh: paged_attention_kernel, which takes the maximum "
        "first and then the sum",
        "csrc/attention/attention_kernels.cuh: paged_attention_v2_reduce_kernel",
    ),
    same=close(1e-4, 1e-5),  # float32 will do
    call=call,
)
