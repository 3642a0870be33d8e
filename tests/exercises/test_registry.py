"""Every exercise: its reference passes, and each wrong answer fails where it should.

`make test` tries three wrong answers of each, and of every tenth exercise the hidden cases (a few
of all in grading/test_exercises.py), `make nightly` everything: PAGESIM_GRADE_ALL.
"""

import os
import random
import re
from dataclasses import replace
from itertools import islice

import pytest

from pagesim import exercises
from pagesim.exercises.exercise import Exercise
from tests.exercises.answers import needs

ALL = exercises.all()
QUICK = [exercise for exercise in ALL if not exercise.needs_triton]
NIGHTLY = "PAGESIM_GRADE_ALL" in os.environ
SEEDED = QUICK if NIGHTLY else QUICK[::10]
HIDDEN = ALL if NIGHTLY else ALL[::10]


@pytest.mark.parametrize(
    ("exercise", "hidden"),
    [(e, hidden) for e in ALL for hidden in ((False, True) if NIGHTLY else (False,))],
    ids=lambda value: getattr(value, "number", "hidden" if value else "shown"),
)
def test_the_reference_passes_quietly(
    exercise: Exercise, hidden: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """What goes to stderr, a progress bar, say, is a failure to nbgrader."""
    needs(exercise)
    few = 4 if exercise.needs_triton else 1 if exercise.number == "7.2" else None
    if few and not NIGHTLY:  # each case takes its time
        cases = exercise.cases
        exercise = replace(exercise, cases=lambda *given: islice(cases(*given), few))
    verdict = exercise.check(exercise.reference, hidden=hidden)
    assert verdict, str(verdict)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("exercise", SEEDED, ids=lambda e: e.number)
def test_the_reference_passes_whatever_seed_grades(exercise: Exercise) -> None:
    for seed in (2, 3):
        verdict = exercise.check(exercise.reference, hidden=True, seed=seed)
        assert verdict, f"seed {seed}: {verdict}"


@pytest.mark.parametrize(
    ("exercise", "name"),
    [(e, name) for e in ALL for name in [*e.mistakes][: None if NIGHTLY else 2]],
    ids=lambda value: getattr(value, "number", value),
)
def test_a_wrong_answer_fails_where_its_misconception_shows(exercise: Exercise, name: str) -> None:
    needs(exercise)
    mistake = exercise.mistakes[name]
    verdict = exercise.check(exercise.wrong[name])
    assert not verdict and verdict.case is not None
    assert mistake.shown_by in (verdict.case.tag, verdict.words)
    assert verdict.yours and verdict.expected and verdict.yours != verdict.expected
    if name == next(iter(exercise.mistakes)):  # it is played, which takes its time
        assert str(verdict) and verdict._repr_html_()
        assert (verdict.run is not None) == (exercise.play is not None)


KERNELS = [exercise for exercise in ALL if "@triton.jit" in exercise.stub]


def kernel_lines(exercise: Exercise) -> int:
    """Lines between a kernel's head and its end, without comments and blank lines."""
    text = exercise.solution.split("@triton.jit")[1]
    body = re.split(r"\):\n", text, maxsplit=1)[1].split("\n\n\n")[0]
    body = re.sub(r'""".*?"""', "", body, flags=re.DOTALL)
    return len([line for line in body.splitlines() if line.split("#")[0].strip()])


def test_there_are_enough_of_each_kind() -> None:
    numbers = [exercise.number for exercise in ALL]
    assert len(set(numbers)) == len(numbers) >= 50
    assert {exercise.chapter for exercise in ALL} == {*range(18)}
    assert len({exercise.name for exercise in ALL}) == len(ALL), "one notebook may hold them all"
    assert sum(kernel_lines(exercise) <= 20 for exercise in KERNELS) >= 4


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda e: e.number)
def test_a_kernel_to_fill_is_short(exercise: Exercise) -> None:
    """A prefill, which has rows of queries, is the longest."""
    assert 3 <= kernel_lines(exercise) <= {"6.5": 27, "13.2": 22}.get(exercise.number, 20)


@pytest.mark.parametrize("exercise", ALL, ids=lambda e: e.number)
def test_an_exercise_is_complete(exercise: Exercise) -> None:
    assert len(exercise.mistakes) >= 3 and len(exercise.hints) == 3 and exercise.vllm
    assert exercise.stars in (1, 2, 3) and exercise.title and exercise.statement
    assert exercise.name in exercise.statement
    assert "raise NotImplementedError()" in exercise.stub and "###" not in exercise.solution
    assert "# fmt" not in exercise.stub and "# type" not in exercise.stub, "notes to our tools"
    for mistake in exercise.mistakes.values():
        assert mistake.misconception.endswith(".") and mistake.shown_by


@pytest.mark.parametrize("exercise", ALL, ids=lambda e: e.number)
def test_hidden_cases_are_others(exercise: Exercise) -> None:
    def told(hidden: bool) -> list[str]:
        return [exercise.words(case) for case in exercise.cases(random.Random(0), hidden)]

    needs(exercise)
    assert told(False) == told(False), "the same every time"
    assert set(told(True)) - set(told(False)), "other sizes or seeds when hidden"


@pytest.mark.parametrize("exercise", HIDDEN, ids=lambda e: e.number)
def test_hidden_cases_find_every_wrong_answer(exercise: Exercise) -> None:
    needs(exercise)
    for name, wrong in exercise.wrong.items():
        verdict = exercise.check(wrong, hidden=True, seed=1)
        assert not verdict, f"{name} passes the hidden cases of {exercise.number}"
