"""What the exercises of chapter 7 measure with: the hook for victims, and the faulty schedulers."""

import pytest

from pagesim.exercises.ch07.chosen_victims import ChosenVictims
from pagesim.exercises.ch07.faulty import FAULTY
from pagesim.exercises.ch07.find_the_bug import compare, side_by_side
from pagesim.exercises.ch07.pick_victim import STREAM, last_in, measure, requests
from pagesim.exercises.ch07.serving import Served, ServingScheduler, serve

pytestmark = pytest.mark.ch07


def test_with_vllms_victims_the_hook_changes_nothing() -> None:
    hooked = measure(STREAM, last_in)
    plain = serve(ServingScheduler(30, max_num_seqs=64), requests(STREAM))
    assert hooked.batches == plain.batches and hooked.preempted == plain.preempted
    assert hooked.preemptions > 20 and hooked.finished


def test_a_victim_is_the_one_that_is_picked() -> None:
    seen: list[list[tuple[int, int, int]]] = []

    def pick(running: list[tuple[int, int, int]]) -> int:
        seen.append(running)
        return 0

    scheduler = ChosenVictims(6)
    scheduler.pick = pick
    served = serve(scheduler, [(8, 3), (5, 3), (5, 3)])
    assert seen[0] == [(6, 2, 0), (6, 2, 0)], "tokens, blocks and times of s1 and s2"
    assert served.preempted[1] >= 1 and served.wasted >= 5


@pytest.mark.parametrize("letter", FAULTY)
def test_a_faulty_scheduler_serves_ordinary_requests_as_vllms(letter: str) -> None:
    vllm, broken = compare(letter, [(4, 3), (8, 2), (3, 5)], 12)
    assert vllm.batches == broken.batches and vllm.finished
    assert "differs" not in side_by_side(letter, [(4, 3)], 12)


def test_side_by_side_marks_the_steps_that_differ() -> None:
    text = side_by_side("B", [(16, 3), (12, 3), (4, 3)], 6)
    assert "s2:4   <- differs" in text and text.startswith("step   vLLM")


def test_requests_that_were_given_up_are_counted() -> None:
    served: Served = serve(ServingScheduler(4, watermark=0.5), [(12, 2), (4, 2)])
    assert served.ignored == 1 and served.finished and served.steps == 2
    said = "2 steps, 5 tokens computed, 0 wasted, 0 preemptions, 7 blocks idle, 1 ignored"
    assert str(served) == said
