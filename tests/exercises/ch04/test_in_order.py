"""What the oracle of 5.4 says is what the copies of the course do with bytes."""

import random

import pytest

from pagesim import kernels
from pagesim.exercises.ch04 import in_order
from pagesim.exercises.registry import get

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.ch04


def test_copy_blocks_leaves_the_same_contents() -> None:
    device = kernels.backend.device()
    for case in list(in_order.cases(random.Random(1), True))[-12:]:
        (pairs,) = case.args
        expected = in_order.in_turn(pairs)[0]
        k = torch.arange(len(expected), dtype=torch.float32, device=device)
        k = k.reshape(-1, 1, 1, 1).repeat(1, 1, 1, 16)
        v = -k
        kernels.copy_blocks([k], [v], torch.tensor(pairs, dtype=torch.int64, device=device))
        assert k[:, 0, 0, 0].tolist() == expected
        assert v[:, 0, 0, 0].tolist() == [-float(block) for block in expected]


def test_a_launch_with_a_clash_is_wrong_even_if_it_would_come_out_right() -> None:
    verdict = get("4.4").check(lambda pairs: [pairs])
    assert not verdict and "a matter of chance" in verdict.why


def test_a_launch_that_writes_a_block_twice_is_wrong_with_the_same_content_too() -> None:
    assert "a matter of chance" in in_order.why([[(0, 1), (0, 1)]], [(0, 1)])
