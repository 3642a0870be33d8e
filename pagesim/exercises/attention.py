"""Attention as it is defined, on lists: for oracles that are asked where no NumPy is.

It is `kernels.reference` for one query and one head (tests/exercises/test_attention.py).
"""

import math
from collections.abc import Sequence
from operator import mul


def attention(scores: Sequence[float], values: Sequence[Sequence[float]]) -> list[float]:
    """The average of the values, weighted by the softmax of the scores."""
    largest = max(scores)
    weights = [math.exp(score - largest) for score in scores]
    shares = [weight / sum(weights) for weight in weights]
    return [sum(map(mul, shares, column)) for column in zip(*values, strict=True)]
