"""Answers that are measured: a goal accepts some, and says what is wrong with the others."""

import random
from typing import Any

import pytest

from pagesim import exercises
from pagesim.exercises.case import Goal
from pagesim.exercises.guard import Answer
from pagesim.exercises.values import equal_values, plain, shown
from tests.exercises.answers import data


def test_a_goal_is_asked_shown_and_typed() -> None:
    goal = Goal(accepts=lambda yours: yours == [1, 2], like=(0, 0), words="1 and 2")
    assert equal_values((1, 2), goal) and not equal_values((2, 1), goal)
    assert shown(goal) == "1 and 2"
    assert plain([goal]) == [[0, 0]]


MISSED = data("goals")
"""Exercises, answers that miss their goals, and what is said of them."""


@pytest.mark.parametrize(("number", "answer", "said"), MISSED)
def test_what_misses_a_goal_is_told_why(number: str, answer: Any, said: str) -> None:
    exercise = exercises.get(number)
    case = next(iter(exercise.cases(random.Random(0), False)))
    verdict = exercise.judge(case, Answer(plain(answer)))
    assert verdict is not None and said in verdict.why
