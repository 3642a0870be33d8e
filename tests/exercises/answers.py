"""Answers to every exercise, right and wrong, written without its list of typical mistakes.

``tests/data/answers/NUMBER.py`` holds cells as students write them, each under a line that begins
with ``# %% right:`` or ``# %% wrong:`` and says what it is; what stands above the first belongs to
each of them. An answer that changes a few lines of an earlier one is told by these lines::

    # %% wrong: the offset is forgotten
    # as "block by block", but
    #-     return block * size + offset
    #+     return block * size

Lines with neither sign say which place is meant; an empty comment stands between two places.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pagesim import (
    exercises,
    kernels,  # before triton: it decides how triton is imported
)
from pagesim.exercises import source
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.verdict import Verdict


def needs(exercise: Exercise) -> None:
    """Skip what is left of a test where this machine cannot run the exercise's kernels."""
    if exercise.needs_triton and kernels.backend.decide().mode == "reference":
        pytest.skip("kernels cannot run here")


DATA = Path(__file__).parents[1] / "data"
FOLDER = DATA / "answers"
_HEAD = re.compile(r"^# %% (right|wrong): (.+)\n", re.M)
_LIKE = re.compile(r'# as "(.+)", but\n')


def data(name: str) -> Any:
    """What a JSON file of tests/data/exercises holds."""
    return json.loads((DATA / "exercises" / f"{name}.json").read_text(encoding="utf-8"))


def blank(*_: object) -> None:
    """An answer that is not written yet."""
    raise NotImplementedError()


@dataclass(frozen=True)
class Written:
    """An answer, whether it is right, and what it does in a few words."""

    number: str
    right: bool
    note: str
    text: str

    def load(self) -> Callable[..., Any]:
        """The function, as it is when the student's cell has run."""
        return source.Cell(self.text, exercises.get(self.number).name).load()


def written(number: str) -> list[Written]:
    """The answers to an exercise, in the order of its file."""
    file = FOLDER / f"{number}.py"
    before, *parts = _HEAD.split(file.read_text(encoding="utf-8"))
    cells: dict[str, str] = {}
    found = []
    for kind, note, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        cell = text.strip("\n") + "\n"
        if like := _LIKE.match(cell):
            cell = _changed(cells[like[1]], cell[like.end() :])
        cells[note] = cell
        found.append(Written(number, kind == "right", note, before + cell))
    return found


def _changed(cell: str, places: str) -> str:
    """A cell with the lines of each place changed; ValueError unless a place is there just once."""
    for place in re.split(r"^#\n", places, flags=re.M):
        lines = [(line[1:2], line[3:]) for line in place.splitlines()]
        old = "".join(f"\n{line}" for sign, line in lines if sign != "+")
        new = "".join(f"\n{line}" for sign, line in lines if sign != "-")
        if f"\n{cell}".count(f"{old}\n") != 1:
            raise ValueError(f"the place must be there once:{old}")
        cell = f"\n{cell}".replace(f"{old}\n", f"{new}\n")[1:]
    return cell


def verdicts(exercise: Exercise, answer: Written) -> Iterator[Verdict]:
    """What `check` says, then what the cases of `grade` say."""
    for hidden in (False, True):
        yield exercise.check(answer.load(), hidden=hidden)
