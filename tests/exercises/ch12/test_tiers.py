"""The tiers of exercise 12.4: vLLM's own never loads wrong bytes, each broken one does."""

import random

import pytest

from pagesim.exercises.ch12.faulty import FAULTY
from pagesim.exercises.ch12.find_the_bug import log, show_wrong_bytes, tier_of
from pagesim.exercises.ch12.tiers import LATEST

pytestmark = pytest.mark.ch12


@pytest.mark.parametrize("seed", range(20))
def test_the_right_tier_loads_right_bytes(seed: int) -> None:
    chance = random.Random(seed)
    num_chunks = chance.randint(2, 4)
    arrivals = [
        (chance.randint(0, LATEST), [chance.randint(1, 2)] * chance.randint(1, 2 * num_chunks))
        for _ in range(6)
    ]
    tier = tier_of("", num_chunks)
    lines = tier.serve(arrivals)
    assert lines and tier.wrong == []


@pytest.mark.parametrize("letter", FAULTY)
def test_the_same_requests_show_the_fault_of_one_tier_alone(letter: str) -> None:
    requests, cause = show_wrong_bytes(letter, 3)
    assert cause == FAULTY[letter][1]
    assert "wrong bytes" in log(requests, 3, letter)
    assert "wrong bytes" not in log(requests, 3)
