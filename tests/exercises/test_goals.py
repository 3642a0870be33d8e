"""Answers that are measured: a goal accepts some, and says what is wrong with the others."""

import random
from typing import Any

import pytest

from pagesim import exercises
from pagesim.exercises.goal import Goal
from pagesim.exercises.guard import Answer
from pagesim.exercises.values import equal_values, plain, shown


def test_a_goal_is_asked_shown_and_typed() -> None:
    goal = Goal(accepts=lambda yours: yours == [1, 2], like=(0, 0), words="1 and 2")
    assert equal_values((1, 2), goal) and not equal_values((2, 1), goal)
    assert shown(goal) == "1 and 2"
    assert plain([goal]) == [[0, 0]]


@pytest.mark.parametrize(
    ("number", "answer", "said"),
    [
        ("1.3", {"stream": [2048, 64, [[63, 1]] * 50]}, "at least 90 %"),
        ("5.2", [[[8], [9]], [(0, 0)]], "keep its number of blocks"),
        ("5.2", [[[3]], [(0, 0)]], "name only free CPU blocks"),
        ("5.2", [[[8]], [(0, 99)]], "no block 99 in the CPU pool"),
        ("5.2", [[[8]], [(0, 0), (0, 0)]], "One copy of each block"),
        ("7.2", [1.5, "recompute"], "between 0 and 1"),
        ("7.2", [0.08, "because"], "The reason must be one of"),
        ("7.2", [0.08, "idle"], "Without a watermark"),
        ("7.3", [0], "the index of the victim"),
        ("7.5", [[], "back"], "1 to 3 requests"),
        ("7.5", [[(1, 1)] * 4, "back"], "1 to 3 requests"),
        ("7.5", [[(1, 1, 1)], "back"], "a pair of two ints"),
        ("7.5", [[(24, 1)], "back"], "6 blocks have 24 slots"),
        ("7.5", [[(16, 5), (8, 3), (4, 3)], "late"], "one of back"),
        ("15.4", 130, "a multiple of 16 from 128"),
        ("15.4", 16 * 10**9, "a multiple of 16 from 128"),
        ("6.1", [["short"]], "64 characters"),
        ("6.3", [[], [1]], "a list of 1 to 4 ints"),
        ("6.4", [[1, 1]] * 5, "1 to 4 prompts"),
        ("6.4", [[-1, -1]], "A token is an int"),
        ("6.6", [[[1, 1]] * 6, "heads"], "1 to 5 prompts"),
        ("6.6", [[[1] * 7], "heads"], "a list of 1 to 6 ints"),
        ("6.6", [[[1, 1], [2, 2]], "heads"], "do not show the fault"),
        ("8.3", ["b200", 8, "auto"], "Choose one of l4"),
        ("8.3", ["h200", 3, "auto"], "Choose one of l4"),
        (
            "8.4",
            ["no memory", {"layers": 1, "kv_heads": 1, "head_dim": 1}, 1, 1],
            "cannot be read",
        ),
        ("8.4", ["", {"layers": 0, "kv_heads": 1, "head_dim": 1}, 1, 1], "ints from 1 to"),
        ("8.4", ["", {"layers": 1}, 1, 1], "must be a dict with layers"),
    ],
)
def test_what_misses_a_goal_is_told_why(number: str, answer: Any, said: str) -> None:
    exercise = exercises.get(number)
    case = next(iter(exercise.cases(random.Random(0), False)))
    verdict = exercise.judge(case, Answer(plain(answer)))
    assert verdict is not None and said in verdict.why
