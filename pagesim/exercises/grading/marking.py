"""Marking one file: its process answers, and the oracle here says whether it is right."""

import contextlib
import functools
import random
import re
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from pagesim.exercises.case import Case
from pagesim.exercises.deadline import TooSlow, last_resort, within
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.grading import sandbox
from pagesim.exercises.grading.parent import EndedError, Process
from pagesim.exercises.grading.scan import flags
from pagesim.exercises.grading.submissions import Cell, Handed, answered, cells
from pagesim.exercises.guard import Answer, attempt, call_plainly

READING_SECONDS, CELL_SECONDS, LOAD_SECONDS, JUDGING_SECONDS, GRACE = 10.0, 10.0, 30.0, 10.0, 2.0
PATIENCE = 5
"""An exercise may take as long as this number of its cases at their time limit."""
MAX_FLAGS = 20
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True)
class Mark:
    """What one answer is worth; ``feedback`` tells the student why it is not worth more."""

    number: str
    points: int
    of: int
    feedback: str = ""


@dataclass(frozen=True)
class Marked:
    """A file with its marks, or with the problem that kept it from being marked."""

    handed: Handed
    marks: tuple[Mark, ...] = ()
    problem: str = ""
    flags: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()


def mark(
    handed: Handed,
    exercises: Sequence[Exercise],
    seed: int = 0,
    layers: Collection[str] = sandbox.LAYERS,
) -> Marked:
    """Run the cells of a file and try every exercise that it answers, on hidden cases."""
    if handed.problem:
        return Marked(handed, problem=handed.problem)
    try:
        with last_resort(READING_SECONDS + GRACE):
            listed, tried, flagged = within(READING_SECONDS, lambda: _read(handed, exercises))
    except (ValueError, TooSlow) as error:
        slow = f"it takes more than {READING_SECONDS:g} s to read"
        return Marked(handed, problem=clean(str(error)) or slow)
    if not tried:
        return Marked(handed, problem="no exercise is answered in it")
    with contextlib.closing(Running(listed, tried, layers)) as running:
        marks = tuple(_mark(exercise, running, seed) for exercise in tried)
        return Marked(handed, marks, "", flagged, tuple(running.taken))


def _read(
    handed: Handed, exercises: Sequence[Exercise]
) -> tuple[list[Cell], list[Exercise], tuple[str, ...]]:
    """The cells of a file, the exercises that it answers, and what a teacher should look at."""
    listed = cells(handed.path)
    tried = answered(listed, handed.path, exercises)
    flagged = [clean(flag, 200) for flag in flags(listed, tried)]
    return listed, tried, tuple(flagged[:MAX_FLAGS])


def clean(text: str, limit: int = 2000) -> str:
    """Text of a stranger's for a report: printable, of bounded length, the same in every run."""
    text = _ADDRESS.sub("", text[: 4 * limit])
    shown = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


class Running:
    """A file's cells in a process; when that ends it is started again for what is left."""

    def __init__(
        self, listed: Sequence[Cell], tried: Sequence[Exercise], layers: Collection[str]
    ) -> None:
        self._left, self._layers = [*listed], layers
        self._names = {exercise.number: exercise.name for exercise in tried}
        self._imports = ["pagesim.kernels", "torch"] if any(e.needs_triton for e in tried) else []
        self._process: Process | None = None
        self.problems: dict[str, str] = {}
        self.taken: list[str] = []

    def answer(self, exercise: Exercise, case: Case) -> Answer:
        """What the student's function says to a case; EndedError when nothing more will come."""
        process = self._process or self._started()
        try:
            reply = process.ask(
                exercise.seconds + GRACE,
                number=exercise.number,
                name=exercise.name,
                args=case.args,
                limit=exercise.seconds,
                special=exercise.call is not call_plainly,
            )
        except EndedError:
            self.close()
            raise
        if reply.get("missing"):
            problems = " ".join(f"{label}: {why}" for label, why in self.problems.items())
            return Answer(problem=f"There is no function {exercise.name}. {problems}".strip())
        return Answer(reply.get("value"), reply["problem"], reply["printed"])

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _started(self) -> Process:
        """A new process with all cells run, but for those that ended an earlier one."""
        until = time.monotonic() + LOAD_SECONDS
        while self._process is None:
            self._process = Process(self._imports, self._layers)
            self.taken = self._process.taken
            for cell in self._left:
                seconds = min(CELL_SECONDS, until - time.monotonic())
                if seconds < 0:
                    self.problems[cell.label] = f"not run: {LOAD_SECONDS:g} s were over."
                    break
                try:
                    self._run(cell, self._process, seconds)
                except EndedError as error:
                    self.problems[cell.label] = str(error)
                    self._left.remove(cell)
                    self.close()
                    break
        return self._process

    def _run(self, cell: Cell, process: Process, seconds: float) -> None:
        solves = {number: self._names[number] for number in cell.solves if number in self._names}
        reply = process.ask(
            seconds + GRACE, text=cell.text, file=f"<{cell.label}>", solves=solves, limit=seconds
        )
        if reply["problem"]:
            self.problems[cell.label] = reply["problem"]


def _mark(exercise: Exercise, running: Running, seed: int) -> Mark:
    """One exercise: every hidden case until one is answered wrong."""
    wrong = next(_objections(replace(exercise, play=None), running, seed), "")
    return Mark(exercise.number, 0 if wrong else exercise.points, exercise.points, clean(wrong))


def _objections(exercise: Exercise, running: Running, seed: int) -> Iterator[str]:
    """What is wrong with the answers, case after case; nothing when all are right."""
    until = time.monotonic() + PATIENCE * exercise.seconds
    for case in exercise.cases(random.Random(seed), True):
        try:
            answer = running.answer(exercise, case)
        except EndedError as error:
            answer = Answer(problem=str(error))
        # The oracle runs on what a stranger sent: it also has a limit.
        with last_resort(JUDGING_SECONDS + GRACE):
            judge = functools.partial(exercise.judge, case, answer)
            judged = attempt(judge, Case(()), seconds=JUDGING_SECONDS)
        if judged.problem:
            yield f"The answer cannot be compared: {judged.problem}"
        elif judged.value is not None:
            yield str(judged.value)
        elif time.monotonic() > until:
            yield f"The answers take more than {PATIENCE * exercise.seconds:g} s together."
