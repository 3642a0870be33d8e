"""# 15.1 Two halves of a softmax ★

A sequence is cut into two halves, and two programs have attended to one half each. Each program
returns the state of its online softmax, `(m, ell, acc)`:

* `m`: the largest score that it saw, a float, or -inf if its half was empty;
* `ell`: the sum of exp(score - m) over its half;
* `acc`: the sum of exp(score - m) · value over its half, a NumPy array `[head_dim]`.

Write `merge(first, second)`. It takes two such states and returns the state of a program that saw
both halves.

Example: let the first half have one score, 1, with the value 10, and let the second half have one
score, 3, with the value 20. Then `merge((1.0, 1.0, [10.]), (3.0, 1.0, [20.]))` is
`(3.0, 1.1353…, [21.3534…])`, because the first half is scaled by exp(1 - 3) = 0.1353…. (The arrays
have one element here, and are written as lists.)

A score may be as large as 1000 or as small as -1000, and a half may be empty.

## Hints
1. Everything in a state is relative to its `m`. What is the largest score of both halves together?
2. Let m1 be the maximum of the first half, and m the maximum of both halves. Then Σ exp(score - m)
   = exp(m1 - m) · Σ exp(score - m1). The factor is the same for `ell` and for `acc`.
3. Let `m = max(m1, m2)`, `scale1 = exp(m1 - m)` and `scale2 = exp(m2 - m)`. Then add the scaled
   sums. If `m` is -inf, both halves are empty.

## Wrong answers
* acc_not_scaled (another maximum): The two sums acc can be added as they are.
* ell_not_scaled (another maximum): The two sums ell can be added as they are.
* turned_round (another maximum): The half with the smaller maximum is scaled up.
* empty_halves (two empty halves): exp(-inf - m) is 0, so empty halves need no special care.
* no_shift (large scores): exp(m1 - m) is exp(m1) / exp(m), so I can write either.

## vLLM
* csrc/attention/attention_kernels.cuh: paged_attention_v2_reduce_kernel
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import numpy.typing as npt

from pagesim.exercises.kit import Case, Cases, Random, close

Half = tuple[list[float], list[list[float]]]
"""Scores, and a value of two elements for each."""
State = tuple[float, float, npt.NDArray[np.float64]]
SHOWN: list[list[float]] = [[], [0.0], [3.0, 1.0], [2.0, 5.0], [-7.5]]
SHOWN += [[-1000.0, -990.0], [1000.0, 998.0]]
TAGS = ("the same maximum", "another maximum", "an empty half", "two empty halves", "large scores")
same = close(1e-9, 1e-300)


def merge(first: tuple, second: tuple) -> tuple:  # type: ignore[type-arg]
    """The state (m, ell, acc) over both halves."""
    import math

    ### BEGIN SOLUTION
    (m1, ell1, acc1), (m2, ell2, acc2) = first, second
    m = max(m1, m2)
    if m == -math.inf:
        ### empty_halves: if m is None:
        return m, 0.0, acc1
    scale1, scale2 = math.exp(m1 - m), math.exp(m2 - m)
    ### turned_round: scale1, scale2 = math.exp(m - m1), math.exp(m - m2)
    ### no_shift: scale1, scale2 = math.exp(m1) / math.exp(m), math.exp(m2) / math.exp(m)
    return m, scale1 * ell1 + scale2 * ell2, scale1 * acc1 + scale2 * acc2
    ### acc_not_scaled: return m, scale1 * ell1 + scale2 * ell2, acc1 + acc2
    ### ell_not_scaled: return m, ell1 + ell2, scale1 * acc1 + scale2 * acc2
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Every pair of halves, the easy ones first."""
    halves = SHOWN
    if hidden:
        halves = [[rng.uniform(-9, 9) for _ in range(rng.randint(0, 4))] for _ in range(5)]
        halves += [[], [rng.uniform(800, 999)], [rng.uniform(-999, -800)]]
    for first, second in sorted(product(halves, halves), key=difficulty):
        values = [[rng.uniform(-1, 1) for _ in range(2)] for _ in first + second]
        args = ((first, values[: len(first)]), (second, values[len(first) :]))
        yield Case(args, f"scores {first} | {second}", TAGS[difficulty((first, second))])


def difficulty(pair: tuple[list[float], list[float]]) -> int:
    first, second = pair
    if max(map(abs, first + second), default=0) > 100:
        return 4
    if not (first and second):
        return 2 if first or second else 3
    return 0 if max(first) == max(second) else 1


def state(scores: list[float], values: list[list[float]]) -> State:
    """What a program hands over that saw these keys."""
    m = max(scores, default=-np.inf)
    weights = np.array([np.exp(score - m) for score in scores])
    return float(m), float(weights.sum()), weights @ np.array(values).reshape(-1, 2)


def oracle(first: Half, second: Half) -> State:
    """The state after all keys, one score after the other, as the reference keeps it."""
    from pagesim.kernels import reference

    scores, values = first[0] + second[0], first[1] + second[1]
    m, ell = [(-np.inf, 0.0), *reference.online_softmax_states(scores)][-1]
    return m, ell, state(scores, values)[2]


def call(merge: Callable[[State, State], State], first: Half, second: Half) -> State:
    return merge(state(*first), state(*second))


def why(yours: State, right: State) -> str:
    m, ell, _ = yours
    if right[0] == -np.inf:
        empty = "Both halves are empty, so m is -inf, and -inf - (-inf) is NaN"
        return f"{empty}. Return the state of an empty half."
    if m != right[0]:
        return "The largest score of both halves is the larger of the two maxima."
    if not close(1e-9)(ell, right[1]):
        scale = "Scale it by exp(m of its half - m of both)"
        return f"Each ell is relative to the m of its half. {scale}."
    return "Like ell, each acc is relative to the m of its half. Scale it by the same factor."
