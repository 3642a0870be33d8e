"""The oracles' attention on lists is that of the reference, which needs NumPy."""

import math
import random

import numpy as np
import pytest

from pagesim.exercises.attention import attention
from pagesim.kernels.reference import gather_attention

pytestmark = pytest.mark.ch03


def test_it_is_the_references() -> None:
    rng = random.Random(0)
    for n in range(1, 20):
        scores = [rng.choice((-math.inf, rng.uniform(-999, 999), rng.gauss())) for _ in range(n)]
        scores[rng.randrange(n)] = rng.uniform(-999, 999)
        values = [[rng.gauss(), rng.gauss()] for _ in range(n)]
        q, k = np.array([[[1.0, 0.0]]]), np.zeros((1, n, 1, 2))
        k[0, :, 0, 0] = scores
        v = np.array(values)[None, :, None]
        with np.errstate(invalid="ignore"):  # -inf in a key
            right = gather_attention(q, k, v, np.array([[0]]), np.array([n]), scale=1.0)
        assert attention(scores, values) == pytest.approx(right[0, 0].tolist(), rel=1e-12)
