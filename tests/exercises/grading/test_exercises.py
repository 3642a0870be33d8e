"""Every exercise can be graded: right answers in full, wrong and invented ones not at all."""

import math
import os
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pagesim import (
    exercises,
    kernels,  # before triton: it decides how triton is imported
)
from pagesim.exercises.case import Case, Goal
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.grading.marking import Marked, mark
from pagesim.exercises.grading.submissions import Handed
from pagesim.exercises.guard import Answer, attempt

pytestmark = pytest.mark.usefixtures("warm")
ALL = exercises.all()
NIGHTLY = "PAGESIM_GRADE_ALL" in os.environ
"""`make nightly` grades everything: the kernels, every wrong answer and every case."""

GRADED = [e for e in ALL if NIGHTLY or e.number != "7.2"]
"""An answer to 7.2 serves whole workloads, again and again."""

CHAPTERS = sorted({e.chapter for e in ALL if NIGHTLY or not e.needs_triton})
INVENTED = [None, True, False, 0, 1, "", [], {}, "right", "shown", [[]]]
NONSENSE = [10**18, -1, math.nan, math.inf, "x", [], None, [[[]]], {"a": 1}, [10**18] * 50]


def of(chapter: int) -> list[Exercise]:
    """The exercises that this machine and this target grade."""
    can = NIGHTLY and kernels.backend.decide().mode != "reference"
    return [e for e in GRADED if e.chapter == chapter and (can or not e.needs_triton)]


def some(exercise: Exercise) -> Exercise:
    """With three hidden cases: the last is the largest. `test_registry.py` tries all of them."""

    def cases(rng: random.Random, hidden: bool) -> list[Case]:
        every = list(exercise.cases(rng, hidden))
        return every if NIGHTLY else [*every[:2], every[-1]]

    return replace(exercise, cases=cases)


def graded(folder: Path, tried: Sequence[Exercise], texts: Sequence[str]) -> Marked:
    """The marks of a file with these answers."""
    file = folder / f"ex{tried[0].chapter:02}.py"
    file.write_text("\n\n".join(texts))
    return mark(Handed("a student", file), tried)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_references_get_full_marks(chapter: int, tmp_path: Path) -> None:
    result = graded(tmp_path, [*map(some, of(chapter))], [e.solution for e in of(chapter)])
    assert not result.problem and not [m.feedback for m in result.marks if m.feedback]
    full = [(e.number, e.points) for e in of(chapter)]
    assert [(m.number, m.points) for m in result.marks] == full


def text(exercise: Exercise, place: int) -> str:
    """A cell with a wrong answer, which may lean on its module: it is asked for by name."""
    name = list(exercise.wrong)[place]
    wanted = f"exercises.get({exercise.number!r}).wrong[{name!r}]"
    return f"from pagesim import exercises\n{exercise.name} = {wanted}"


@pytest.mark.parametrize("place", range(max(len(e.wrong) for e in ALL)) if NIGHTLY else [0])
@pytest.mark.parametrize("chapter", CHAPTERS if NIGHTLY else CHAPTERS[1::3])
def test_wrong_answers_get_none(chapter: int, place: int, tmp_path: Path) -> None:
    tried = [e for e in of(chapter) if len(e.wrong) > place]
    if not tried:
        pytest.skip("no exercise of this chapter has so many")
    texts = [text(e, place) for e in tried]
    result = graded(tmp_path, tried, texts)
    assert [(m.number, m.points) for m in result.marks] == [(e.number, 0) for e in tried]
    for given in result.marks:
        assert not re.search("NameError|SyntaxError", given.feedback)


def hidden(exercise: Exercise) -> Iterator[Case]:
    return exercise.cases(random.Random(0), True)


def needs(exercise: Exercise) -> None:
    if exercise.needs_triton and not NIGHTLY:
        pytest.skip("kernels are graded by make nightly")


@pytest.mark.parametrize("exercise", GRADED, ids=lambda e: e.number)
def test_no_invented_answer_is_right(exercise: Exercise) -> None:
    needs(exercise)
    first = next(exercise.cases(random.Random(0), False))
    seen = attempt(exercise.reference, first, exercise.call, exercise.seconds).value
    goal = isinstance(exercise.expected(*first.args), Goal)
    for invented in INVENTED if goal else [*INVENTED, seen]:
        judged = (exercise.judge(case, Answer(invented)) for case in hidden(exercise))
        assert any(verdict is not None for verdict in judged), f"{invented!r} passes"


def changed(value: Any, other: Any) -> Iterator[Any]:
    """The value with each of its first parts, at any depth, replaced by something else."""
    yield other
    most = 3 if NIGHTLY else 1
    if isinstance(value, list):
        for place in range(min(len(value), most)):
            for part in changed(value[place], other):
                yield [*value[:place], part, *value[place + 1 :]]
    elif isinstance(value, dict):
        for key in list(value)[:most]:
            yield from ({**value, key: part} for part in changed(value[key], other))


@pytest.mark.parametrize("exercise", GRADED, ids=lambda e: e.number)
def test_the_oracle_survives_any_answer(exercise: Exercise) -> None:
    needs(exercise)
    case = next(hidden(exercise))
    right = attempt(exercise.reference, case, exercise.call, exercise.seconds).value
    for other in NONSENSE:
        for value in changed(right, other):
            judged = attempt(lambda: exercise.judge(case, Answer(value)), Case(()), seconds=5.0)  # noqa: B023
            assert not judged.problem, f"{value!r:.200}: {judged.problem}"
