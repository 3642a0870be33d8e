"""What the first chapters tell a student whose mistake they know, and one whose they do not."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from pagesim import exercises
from pagesim.exercises.case import Goal
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.guard import Answer
from pagesim.exercises.values import plain
from tests.exercises.answers import data, needs, written

TOLD = data("told")
"""By exercise and wrong answer: words of what its verdict says."""

WORDS = {(number, name): words for number, told in TOLD.items() for name, words in told.items()}


@pytest.mark.parametrize(("number", "name"), WORDS, ids=[".".join(key) for key in WORDS])
def test_the_verdict_names_the_cause(number: str, name: str) -> None:
    """Of a typical wrong answer, or of one in tests/data/answers."""
    exercise = exercises.get(number)
    needs(exercise)
    others = {answer.note: answer for answer in written(number)}
    wrong = exercise.wrong[name] if name in exercise.wrong else others[name].load()
    verdict = exercise.check(wrong)
    assert WORDS[number, name] in verdict.yours + verdict.why


def slips(value: Any) -> Iterator[Any]:
    """The same value with one number, text or order another."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, -value)
    elif isinstance(value, dict):
        yield from ({**value, key: slip} for key in value for slip in slips(value[key]))
    elif isinstance(value, list):
        yield value[::-1]
        for i, item in enumerate(value[:4]):
            yield from ([*value[:i], slip, *value[i + 1 :]] for slip in slips(item))


EARLY = [e for e in exercises.all() if e.chapter <= 5 and not e.needs_triton]


@pytest.mark.parametrize("exercise", EARLY, ids=lambda e: e.number)
def test_an_unknown_mistake_is_answered_by_a_sentence(exercise: Exercise) -> None:
    cases = list(exercise.cases(random.Random(0), False))
    for case in random.Random(0).sample(cases, min(len(cases), 3)):
        expected = exercise.expected(*copy.deepcopy(case.args))
        is_goal = isinstance(expected, Goal)
        for slip in slips(expected.like if is_goal else plain(expected)):
            verdict = exercise.judge(case, Answer(slip))
            if verdict is not None:
                why = verdict.why
                assert len(why.split()) > 4 and why.endswith("."), why
                assert is_goal or "does not have the right shape" not in why, (slip, why)


@pytest.mark.parametrize("hidden", [False, True], ids=["shown", "hidden"])
@pytest.mark.parametrize(
    "exercise", [e for e in exercises.all() if e.chapter <= 5 and e.play], ids=lambda e: e.number
)
def test_every_case_can_be_played(exercise: Exercise, hidden: bool) -> None:
    cases = list(exercise.cases(random.Random(2), hidden))
    for case in random.Random(0).sample(cases, min(len(cases), 8)):
        assert len(exercise.play(case)) > 0, case


def test_a_goal_has_no_element_to_differ_from() -> None:
    """Its `like` says of what kind an answer is, and not what it is."""
    log = exercises.get("8.4")
    log_of_a_gpu = log.reference()
    verdict = log.check(lambda: (*log_of_a_gpu[:2], 1, 2))
    assert verdict.why.startswith("With this model") and "Yours are 1 to 2" in verdict.why


def test_both_numbers_of_a_hint_are_right() -> None:
    def pick(limit: int) -> Any:
        return lambda running: min(
            range(len(running)), key=lambda place: (running[place][2] >= limit, running[place][0])
        )

    for limit in (2, 3):
        exercises.get("7.3").assert_right(pick(limit))
