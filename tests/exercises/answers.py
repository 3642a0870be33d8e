"""Answers to every exercise, right and wrong, written without its list of typical mistakes.

``tests/data/answers/NUMBER.py`` holds cells as students write them, each under a line that begins
with ``# %% right:`` or ``# %% wrong:`` and says what it is; what stands above the first belongs to
each of them.

    python -m tests.exercises.answers 2.5 3.1     # a line for each answer: check, grade, and why
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernels  # noqa: F401  before triton: it decides how triton is imported
from pagesim import exercises
from pagesim.exercises import source
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.verdict import Verdict

FOLDER = Path(__file__).parents[1] / "data" / "answers"
_HEAD = re.compile(r"^# %% (right|wrong): (.+)\n", re.M)


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
    kinds, notes, texts = parts[::3], parts[1::3], parts[2::3]
    return [
        Written(number, kind == "right", note.strip(), before + text.strip("\n") + "\n")
        for kind, note, text in zip(kinds, notes, texts, strict=True)
    ]


def verdicts(exercise: Exercise, answer: Written) -> Iterator[Verdict]:
    """What `check` says, then what the cases of `grade` say."""
    for hidden in (False, True):
        yield exercise.check(answer.load(), hidden=hidden)


def main(numbers: list[str]) -> None:
    """A line for each answer; one that is misjudged begins with an exclamation mark."""
    wanted = numbers or [path.stem for path in sorted(FOLDER.glob("*.py"))]
    for exercise in exercises.all():
        if exercise.number not in wanted:
            continue
        for answer in written(exercise.number):
            shown, graded = (verdict.right for verdict in verdicts(exercise, answer))
            mark = " " if shown == graded == answer.right else "!"
            said = ["wrong", "right"]
            print(
                f"{mark} {exercise.number:5} {said[answer.right]}: check {said[shown]}, "
                f"grade {said[graded]}  {answer.note}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
