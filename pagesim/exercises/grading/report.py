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
    def left(self) -> list[str]:
        """What could not be taken from every submission."""
        return [name for name in TAKEN if name not in self.taken]

    @property
    def header(self) -> list[str]:
        """Under what conditions submissions ran."""
        counts = {"student": len(self.students), "exercise": len(self.exercises), "point": self.of}
        facts = [counted(number, thing) for thing, number in counts.items()]
        lines = [", ".join([*facts, f"hidden cases of seed {self.seed}"])]
        for what, names in (("taken from", self.taken), ("LEFT to", self.left)):
            if names:
                lines.append(f"{what} submissions: {'; '.join(TAKEN[name] for name in names)}")
        return lines

    def as_dict(self) -> JsonObject:
        """For --json."""
        return {
            "seed": self.seed,
            "exercises": {e.number: e.points for e in self.exercises},
            "points": self.of,
            "taken": list(self.taken),
            "left": self.left,
            "students": [
                {
                    "student": student.name,
                    "points": student.points,
                    "marks": {
                        number: {"points": mark.points, "of": mark.of, "feedback": mark.feedback}
                        for number, mark in student.marks.items()
                    },
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
            feedback = (mark.feedback.splitlines() for mark in student.marks.values())
            remarks += [f"  {line}" for line in itertools.chain(*feedback)]
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
        _student(name, list(files), exercises)
        for name, files in itertools.groupby(listed, lambda m: clean(m.handed.student, 200))
    )
    seen = {number for student in students for number in student.marks}
    chapters = {e.chapter for e in exercises if e.number in seen}
    ran = [m.taken for m in listed if m.marks]
    taken = tuple(name for name in TAKEN if ran and all(name in each for each in ran))
    asked = tuple(e for e in exercises if e.chapter in chapters)
    return Report(students, asked, seed, taken)


def _student(name: str, files: Sequence[Marked], exercises: Sequence[Exercise]) -> Student:
    given = [mark for file in reversed(files) for mark in file.marks]
    best = {mark.number: mark for mark in sorted(given, key=lambda mark: mark.points)}
    marks = {e.number: best[e.number] for e in exercises if e.number in best}
    problems = [f"{clean(f.handed.path.name, 200)}: {f.problem}" for f in files if f.problem]
    found = sorted({flag for file in files for flag in file.flags})
    return Student(name, marks, tuple(problems), tuple(found))


def _line(name: str, wide: int, cells: Sequence[str], points: str) -> str:
    return f"{name:<{wide}}  {'  '.join(f'{cell:>4}' for cell in cells)}  {points:>6}"


def _harmless(text: str) -> str:
    """The text, with a quote in front where a spreadsheet would calculate."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text
