"""# 3.1 Attention in one pass ★

Attention is an average of values, weighted by the softmax of their scores. Here the scores come one
after the other, and each can be read only once: you can go through `scores` from the first to the
last, but not a second time. Finish `attend_one_pass(scores, values)`, which returns this average.

The loop keeps the state of section 2, for all scores seen so far:

* `m` is the largest score;
* `ell` is the sum of exp(score - m);
* `acc`, a list, is the sum of exp(score - m) times value.

At the end, `acc / ell` is the average.

`scores` has n floats, and `values` has n lists of d floats. A score may be as large as 1000 or as
small as -1000. A score of `-math.inf` has weight 0; a mask uses it to leave a key out. At least one
score is finite.

Example: `attend_one_pass([0.0, 0.0], [[1.0, 4.0], [3.0, 0.0]])` is `[2.0, 2.0]`, because equal
scores give a plain average.

## Hints
1. The sums `ell` and `acc` are relative to the largest score so far. What must happen to them when
   a larger score comes?
2. Let `new_m = max(m, score)`. Multiply `ell` and `acc` by `exp(m - new_m)`. The weight of the new
   score is `exp(score - new_m)`.
3. Let `r = exp(m - new_m)` and `w = exp(score - new_m)`. Then `ell` becomes `ell * r + w`, each `a`
   of `acc` becomes `a * r + w * x`, where `x` is the element of the value at the same place, and
   `m` becomes `new_m`. Skip a score of -inf before you do any of this.

## Wrong answers
* acc_not_rescaled (the maximum rises): Of the two sums, only ell is relative to the maximum.
* ell_not_rescaled (the maximum rises): What I have already added up no longer changes.
* no_shift (far below 0): exp(score) can be computed for every score, so the maximum is not needed.
* starts_at_0 (far below 0): The largest score so far begins at 0, as a sum does.
* minus_inf_like_any_other (-inf before every score): exp(-inf) is 0, so a score of -inf needs no
  special care.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_kernel, which takes the maximum first and
  then the sum
* csrc/attention/attention_kernels.cuh: paged_attention_v2_reduce_kernel
"""

import math
from collections.abc import Callable

from pagesim.exercises.attention import attention
from pagesim.exercises.ch03.looks import OneByOne
from pagesim.exercises.kit import Case, Cases, Random, close

Row = list[float]
INF = math.inf
same = close(1e-4, 1e-5)  # float32 will do


def attend_one_pass(scores: list[float], values: list[list[float]]) -> list[float]:
    """The average of the values, weighted by the softmax of their scores, in one pass.

    scores: [n] floats, some of them may be -inf (weight 0), not all; values: [n][d] floats.
    """
    m, ell, acc = -math.inf, 0.0, [0.0] * len(values[0])
    ### starts_at_0: m, ell, acc = 0.0, 0.0, [0.0] * len(values[0])
    for score, value in zip(scores, values, strict=True):
        ### BEGIN SOLUTION
        if score == -math.inf:
            ### minus_inf_like_any_other: if score is None:
            continue
        new_m = max(m, score)
        ### no_shift: m = new_m = 0.0
        rescale, weight = math.exp(m - new_m), math.exp(score - new_m)
        ell = ell * rescale + weight
        ### ell_not_rescaled: ell = ell + weight
        acc = [a * rescale + weight * x for a, x in zip(acc, value, strict=True)]
        ### acc_not_rescaled: acc = [a + weight * x for a, x in zip(acc, value, strict=True)]
        m = new_m
        ### END SOLUTION
    return [a / ell for a in acc]


def cases(rng: Random, hidden: bool) -> Cases:
    """One score, two, large and small ones, -inf in each place; then random ones."""
    d = 3 if hidden else 2
    listed = [
        ([0.0], "one score"),
        ([1.0, 1.0], "equal scores"),
        ([2.0, 1.0], "the maximum stays"),
        ([1.0, 2.0], "the maximum rises"),
        ([1.0, 3.0, 2.0, 5.0], "the maximum rises"),
        ([-1.0, -2.0], "all scores below 0"),
        ([-1000.0, -999.0], "far below 0"),
        ([1000.0, 999.0], "scores of 1000"),
        ([-1000.0, 1000.0, 0.0], "scores of 1000"),
        ([1.0, -INF], "-inf after a score"),
        ([-INF, 1.0], "-inf before every score"),
        ([-INF, -1000.0, -INF, 2.0], "-inf before every score"),
    ]
    for _ in range(30):
        some = [rng.choice((-INF, eighths(rng, 9), eighths(rng, 999))) for _ in range(12)]
        listed.append(([*some, eighths(rng, 5)], "many scores"))
    for scores, tag in listed:
        values = [[float(10 * i + j + 1) for j in range(d)] for i in range(len(scores))]
        yield Case((scores, values), tag=tag)


def eighths(rng: Random, largest: int) -> float:
    """A number that float32 has as well."""
    return rng.randint(-8 * largest, 8 * largest) / 8


def call(function: Callable[..., Row], scores: Row, values: list[Row]) -> Row:
    """The student gets scores that can be read once."""
    return function(OneByOne(scores), values)


def oracle(scores: Row, values: list[Row]) -> Row:
    """The textbook's softmax, which takes the maximum first."""
    return attention(scores, values)


RISES = "When the maximum rises from m to new_m, both ell and acc are still relative to m"
FAR = "All scores may be far below 0, so m must begin at -inf"
NO_MAXIMUM = "Skip a score of -inf: while m is -inf too, their difference is NaN."
RULES = {
    "one score": "A single score has all the weight, so the output is its value.",
    "equal scores": "Equal scores have equal weights, and ell is the sum of these weights.",
    "the maximum stays": "A score below the maximum weighs exp(score - m), less than 1.",
    "the maximum rises": f"{RISES}: multiply each of them by exp(m - new_m).",
    "far below 0": f"{FAR}. If m begins at 0, each of these weights is rounded to 0.",
    "scores of 1000": "exp(1000) is too large for a float. Subtract the maximum first.",
    "-inf after a score": "A score of -inf has weight 0: it changes nothing.",
    "-inf before every score": NO_MAXIMUM,
}


def why(tag: str) -> str:
    rule = "ell is the sum of exp(score - m), acc the same sum of exp(score - m) * value."
    return RULES.get(tag, rule)
