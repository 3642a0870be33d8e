"""Every small change of a reference fails its check, or is listed with the reason why it need not.

`make test` tries every fifth exercise without a kernel, `make nightly` all: PAGESIM_MUTANTS. The
kernels' mutants take minutes.
"""

import ast
import os
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

import pytest

from pagesim import exercises
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.verdict import Verdict
from tests.exercises.answers import data, needs
from tests.exercises.mutants import Mutant, mutants

LISTED = data("equivalent_mutants")
NIGHTLY = "PAGESIM_MUTANTS" in os.environ
ALL = exercises.all()
TRIED = ALL if NIGHTLY else [e for e in ALL if not e.needs_triton][2::5]
SOON, LATER = 0.1, 0.5
"""Seconds: mutants that do not end are not worth an exercise's whole time.

From chapter 7 on an answer may take as long as the first.
"""


def check(exercise: Exercise, mutant: Mutant) -> Verdict:
    function = mutant.function()
    soon = SOON if exercise.chapter < 7 else LATER
    verdict = replace(exercise, seconds=min(soon, exercise.seconds)).check(function)
    slow = exercise.needs_triton or is_listed(exercise, mutant.change)  # on a busy machine
    return exercise.check(function) if slow and "No answer after" in verdict.yours else verdict


@cache
def made(number: str) -> list[Mutant]:
    return list(mutants(exercises.get(number).reference))


@cache
def survivors(number: str) -> list[str]:
    exercise = exercises.get(number)
    return [m.change for m in made(number) if check(exercise, m)]


def listed(exercise: Exercise) -> dict[str, str]:
    """Pattern of a change → why it makes no wrong answer."""
    return LISTED.get(exercise.number, {})


def is_listed(exercise: Exercise, change: str) -> bool:
    return any(fnmatchcase(change, pattern) for pattern in listed(exercise))


@pytest.mark.parametrize("exercise", TRIED, ids=lambda e: e.number)
def test_every_mutant_is_caught_or_listed(exercise: Exercise) -> None:
    needs(exercise)
    found = survivors(exercise.number)
    assert [change for change in found if not is_listed(exercise, change)] == []


@pytest.mark.parametrize("exercise", TRIED, ids=lambda e: e.number)
def test_what_is_listed_survives_and_has_a_reason(exercise: Exercise) -> None:
    needs(exercise)
    for pattern, reason in listed(exercise).items():
        assert reason.endswith(".") and len(reason) > 20
        assert any(fnmatchcase(change, pattern) for change in survivors(exercise.number)), pattern


def test_there_are_enough_of_them_and_few_survive() -> None:
    assert sum(len(made(e.number)) for e in TRIED) >= 100
    assert sum(len(made(e.number)) for e in ALL if e.needs_triton) >= 30
    assert set(LISTED) <= {e.number for e in ALL}


def test_the_mutants_of_a_reference() -> None:
    """The blank alone changes, each text is there once, and each kind of change."""
    exercise = exercises.get("2.1")
    found = made("2.1")
    changes = [m.change.split(" → ")[1] for m in found]
    assert len({m.text for m in found}) == len(found) >= 10
    for expected in (
        "result.append(block * block_size - position % block_size)",
        "result.append(block * block_size + position // block_size)",
        "for position in range(num_tokens - 1):",
        "for position in range(num_tokens + 1):",
        "block = table[position // block_size - 1]",
        "pass",
    ):
        assert expected in changes
    head = ast.unparse(ast.parse(exercise.stub)).split("raise")[0]
    assert all(m.text.startswith(head.rstrip()) for m in found)
