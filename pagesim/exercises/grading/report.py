"""The report on a class: a table for the terminal, an object, a file for a spreadsheet."""

import csv
import io
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pagesim.exercises.exercise import Exercise
from pagesim.exercises.grading.marking import Mark, Marked, clean
from pagesim.exercises.grading.sandbox import TAKEN
from pagesim.files.jsonl import JsonObject
from pagesim.player.describe import counted

_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")
"""How a formula begins in a spreadsheet; some of them read the wide signs of East Asia as ours."""


@dataclass(frozen=True)
class Student:
    """One row: the best mark of each exercise, and what is to be said about the files."""

    name: str
    marks: dict[str, Mark]
    problems: tuple[str, ...]
    flags: tuple[str, ...]

    @property
    def points(self) -> int:
        """The sum."""
        return sum(mark.points for mark in self.marks.values())


@dataclass(frozen=True)
class Report:
    """The rows in order of names, and how they came about."""

    students: tuple[Student, ...]
    exercises: tuple[Exercise, ...]
    seed: int
    taken: tuple[str, ...]

    @property
    def of(self) -> int:
        """The points that there are."""
        return sum(exercise.points for exercise in self.exercises)

    @property
    def ok(self) -> bool:
        """Whether every file could be graded."""
        return not any(student.problems for student in self.students)

    @property
    def header(self) -> list[str]:
        """Under what conditions submissions ran."""
        left = [words for name, words in TAKEN.items() if name not in self.taken]
        gone = [words for name, words in TAKEN.items() if name in self.taken]
        facts = (
            counted(len(self.students), "student"),
            counted(len(self.exercises), "exercise"),
            counted(self.of, "point"),
            f"hidden cases of seed {self.seed}",
        )
        lines = [", ".join(facts)]
        lines += [f"taken from submissions: {'; '.join(gone)}"] if gone else []
        lines += [f"LEFT to submissions: {'; '.join(left)}"] if left else []
        return lines

    def as_dict(self) -> JsonObject:
        """For --json."""
        return {
            "seed": self.seed,
            "exercises": {e.number: e.points for e in self.exercises},
            "points": self.of,
            "taken": [name for name in TAKEN if name in self.taken],
            "left": [name for name in TAKEN if name not in self.taken],
            "students": [
                {
                    "student": student.name,
                    "points": student.points,
                    "marks": {number: _facts(mark) for number, mark in student.marks.items()},
                    "problems": list(student.problems),
                    "flags": list(student.flags),
                }
                for student in self.students
            ],
        }

    def text(self) -> str:
        """The table, then what each student should be told."""
        numbers = [exercise.number for exercise in self.exercises]
        wide = max([7, *(len(student.name) for student in self.students)])
        lines = [*self.header, "", _line("student", wide, numbers, "points")]
        for student in self.students:
            cells = [str(student.marks[n].points) if n in student.marks else "-" for n in numbers]
            lines.append(_line(student.name, wide, cells, str(student.points)))
        for student in self.students:
            remarks = [f"  not graded: {problem}" for problem in student.problems]
            remarks += [f"  look at this: {flag}" for flag in student.flags]
            remarks += [_indented(mark) for mark in student.marks.values() if mark.feedback]
            lines += ["", student.name, *remarks] if remarks else []
        return "\n".join(lines)

    def csv(self) -> str:
        """One row per student; a spreadsheet takes none of it for a formula."""
        out = io.StringIO()
        writer = csv.writer(out)
        numbers = [exercise.number for exercise in self.exercises]
        writer.writerow(["student", "points", "of", *(f"ex {n}" for n in numbers), "remarks"])
        for student in self.students:
            points = [student.marks[n].points if n in student.marks else "" for n in numbers]
            remarks = "; ".join((*student.problems, *student.flags))
            name = _harmless(student.name)
            writer.writerow([name, student.points, self.of, *points, _harmless(remarks)])
        return out.getvalue()


def make(marked: Iterable[Marked], exercises: Sequence[Exercise], seed: int) -> Report:
    """One row per student; where two files answer the same exercise, the better one counts."""
    listed = sorted(marked, key=lambda m: (clean(m.handed.student), str(m.handed.path)))
    students = tuple(
        _student(name, list(files))
        for name, files in itertools.groupby(listed, lambda m: clean(m.handed.student, 200))
    )
    seen = {number for student in students for number in student.marks}
    chapters = {e.chapter for e in exercises if e.number in seen}
    ran = [set(m.taken) for m in listed if m.marks]
    taken = set.intersection(*ran) if ran else set()
    asked = tuple(e for e in exercises if e.chapter in chapters)
    return Report(students, asked, seed, tuple(sorted(taken)))


def _student(name: str, files: Sequence[Marked]) -> Student:
    marks: dict[str, Mark] = {}
    for mark in (mark for file in files for mark in file.marks):
        if mark.number not in marks or mark.points > marks[mark.number].points:
            marks[mark.number] = mark
    ordered = sorted(marks, key=lambda number: [int(part) for part in number.split(".")])
    problems = [f"{clean(f.handed.path.name, 200)}: {f.problem}" for f in files if f.problem]
    found = sorted({flag for file in files for flag in file.flags})
    return Student(name, {n: marks[n] for n in ordered}, tuple(problems), tuple(found))


def _line(name: str, wide: int, cells: Sequence[str], points: str) -> str:
    return f"{name:<{wide}}  {'  '.join(f'{cell:>4}' for cell in cells)}  {points:>6}"


def _facts(mark: Mark) -> JsonObject:
    return {"points": mark.points, "of": mark.of, "feedback": mark.feedback}


def _indented(mark: Mark) -> str:
    return "\n".join(f"  {line}" for line in mark.feedback.splitlines())


def _harmless(text: str) -> str:
    """The text, with a quote in front where a spreadsheet would calculate."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text
