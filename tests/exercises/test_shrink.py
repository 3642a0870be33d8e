"""The case that a student sees is as small as one that shows the fault."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pagesim import exercises
from pagesim.exercises import shrink
from pagesim.exercises.case import Case
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.guard import attempt
from pagesim.exercises.shrink import GLANCE, size, smaller
from pagesim.exercises.verdict import Verdict

ADMIT = exercises.get("7.1")
SHRINKING = [exercise for exercise in exercises.all() if exercise.case_of]


def smallest_of(exercise: Exercise, f: Callable[..., Any]) -> Verdict:
    """What a student sees."""
    return shrink.smallest(exercise, f, exercise.check(f))


def one_more_behind_the_first(*args: Any) -> Any:
    """A belief that a single prompt does not show: each later one needs a block more."""
    waiting, free_blocks, *others, block_size = args
    longer = [n + block_size * (place > 0) for place, n in enumerate(waiting)]
    return ADMIT.reference(longer, free_blocks, *others, block_size)


def test_two_prompts_are_shown_in_place_of_five() -> None:
    first = ADMIT.check(one_more_behind_the_first)
    shown = smallest_of(ADMIT, one_more_behind_the_first)
    assert len(shown.case.args[0]) == 2 <= len(first.case.args[0])
    assert size(shown.case.args) <= GLANCE < size(first.case.args)
    assert shown.words != first.words and f"waiting = {shown.case.args[0]}" in shown.words
    assert (shown.case.tag, shown.tried) == (first.case.tag, first.tried)
    assert shown.yours != shown.expected


def test_a_later_case_of_the_same_kind_may_be_smaller() -> None:
    """Where nothing says what a part of a case is."""
    exercise = exercises.get("7.4")
    assert exercise.case_of is None

    def wrong(*args: Any) -> Any:
        return exercise.reference(*args) if size(args) < 60 else "?"

    first, shown = exercise.check(wrong), smallest_of(exercise, wrong)
    cases = list(exercise.cases(random.Random(0), False))
    later = cases[cases.index(first.case) :]
    failing = [case for case in later if case.tag == first.case.tag and size(case.args) >= 60]
    # The first of the smallest:
    assert shown.case == min(failing, key=lambda case: size(case.args)) != first.case


def test_what_is_read_at_a_glance_is_left_as_it_is() -> None:
    for name, wrong in ADMIT.wrong.items():
        first, shown = ADMIT.check(wrong), smallest_of(ADMIT, wrong)
        if size(first.case.args) <= GLANCE:
            assert shown.case == first.case, name


@pytest.mark.parametrize("exercise", SHRINKING, ids=lambda e: e.number)
def test_a_part_of_a_case_is_a_case(exercise: Exercise) -> None:
    """What is shown is wrong by the oracle, and the reference is right there."""
    seen = 0
    for number, case in enumerate(exercise.cases(random.Random(0), False)):

        def late(*args: Any, many: int = number) -> Any:
            return exercise.reference(*args) if size(args) < size(case.args) / 2 else "?"  # noqa: B023

        if size(case.args) <= GLANCE or seen == 3:
            continue
        verdict = smallest_of(exercise, late)
        assert verdict.case is not None and verdict.case.tag
        right = attempt(exercise.reference, verdict.case, exercise.call)
        assert exercise.judge(verdict.case, right) is None
        seen += 1
    assert seen, "all cases are small: what is case_of for?"


def test_an_answer_that_hangs_is_not_tried_again_and_again() -> None:
    calls = []

    def hangs(*args: Any) -> Any:
        calls.append(size(args))
        while size(args) > GLANCE:
            time.sleep(0.01)
        return ADMIT.reference(*args)

    verdict = smallest_of(ADMIT, hangs)
    assert verdict.yours.startswith("No answer after")
    assert sum(each > GLANCE for each in calls) == 1


def test_a_case_on_which_it_hangs_does_not_stand_for_a_wrong_answer() -> None:
    first: list[Any] = []

    def hangs_on_parts(*args: Any) -> Any:
        if size(args) <= GLANCE:
            return ADMIT.reference(*args)
        first.append(args)
        while len(first) > 1:
            time.sleep(0.01)
        return ["wrong"]

    verdict = smallest_of(ADMIT, hangs_on_parts)
    assert verdict.case is not None and verdict.case.args == first[0]
    assert verdict.yours == "['wrong']"


def test_what_the_oracle_and_the_reference_do_not_agree_on_is_no_case() -> None:
    """Even where an exercise takes everything: no prompts, say, or one above the budget."""
    careless = replace(ADMIT, case_of=lambda *args: Case(args))
    fits, too_long = ([4, 20, 4], 30, 20, 3, 0, 4), ([4, 20, 4], 30, 10, 3, 0, 4)
    assert ADMIT.reference(*too_long) != ADMIT.expected(*too_long), "vLLM gives it up, and goes on"
    assert shrink._case_of(careless, fits) == Case(fits)
    assert shrink._case_of(careless, too_long) is None
    assert shrink._case_of(careless, ([], 30, 20, 3, 0, 4)) is None, "the oracle raises"
    assert shrink._case_of(ADMIT, too_long) is None


def test_a_case_without_the_property_of_one_is_never_shown() -> None:
    """Without a budget for its longest prompt, vLLM gives the prompt up: another question."""
    for args in smaller(([30, 4], 40, 30, 3, 0, 4)):
        made = ADMIT.case_of(*args) if ADMIT.case_of and args[0] else None
        assert made is None or max(args[0]) <= args[2]


def test_what_is_smaller() -> None:
    assert list(smaller(([5], "a", True, None, 0))) == [([], "a", True, None, 0),
                                                       ([2], "a", True, None, 0),
                                                       ([4], "a", True, None, 0)]  # fmt: skip
    assert list(smaller([1.5, 2.0])) == [[2.0], [1.5], [2.0, 2.0]]
    sizes = [size(value) for value in ([], [0], "ab", {"a": 1}, None, float("inf"))]
    assert sizes == [1, 2, 3, 5, 1, 1]
    for value in ([3, [4, 5, 6]], [(2, 3), (1, 7)], 9):
        assert all(size(less) < size(value) for less in smaller(value))
