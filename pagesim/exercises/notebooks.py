"""The exercises as notebooks, made from the registry: one a chapter, for students or teachers.

nbgrader reads both: the cells carry its metadata, and the teachers' notebooks its marks, so that
what `nbgrader generate_assignment` makes of them are the students'.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pagesim.errors import UsageError
from pagesim.exercises import source
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.registry import chapter_title, exercises
from pagesim.files import replacing
from pagesim.files.jsonl import JsonObject

Cell = JsonObject

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
INTRO = """\
# Exercises {chapter:02}: {title}

Complete a function, and then run the `check` below it. If your solution is wrong, `check` shows the
smallest case on which it fails, with your result, the right result, and the reason. If blocks move
in that case, you can also step through it in the player.

* `hint("{first}")` gives you a hint. There are three: call it again for the next one.
* `solution("{first}")` shows you the solution, but it asks whether you are sure.
* `progress()` lists what you have tried. The list is kept in a file beside this notebook, and
  nothing leaves your machine.

★ takes 5 to 10 minutes, ★★ 15 to 25, and ★★★ 40 or more."""
KERNELS = (
    "from pagesim import kernels  # first: it decides how Triton runs, with a GPU or without\n"
)
IMPORTS = """\
import math
from typing import Any

from pagesim.exercises import check, get, hint, progress, solution"""
HIDDEN = """\
{check}
### BEGIN HIDDEN TESTS
get("{number}").assert_right({name})
### END HIDDEN TESTS"""


def file_name(chapter: int) -> str:
    """What the notebook of a chapter is called."""
    return f"ex{chapter:02}.ipynb"


def chapters() -> list[int]:
    """The chapters that have exercises."""
    return sorted({exercise.chapter for exercise in exercises()})


def notebook(chapter: int, *, solutions: bool = False) -> str:
    """The text of a chapter's notebook: for students, or for teachers with ``solutions``."""
    ours = [exercise for exercise in exercises() if exercise.chapter == chapter]
    cells = [*_head(ours)]
    for exercise in ours:
        cells += _cells(exercise, solutions)
    cells.append(_cell("code", "progress", "progress()"))
    whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def write(
    folder: Path, wanted: Iterable[int], *, solutions: bool = False, force: bool = False
) -> list[Path]:
    """Write notebooks into a folder; UsageError if one already exists with another text.

    ``force`` overwrites those. Nothing is written unless all can be.
    """
    texts = {folder / file_name(c): notebook(c, solutions=solutions) for c in wanted}
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: name an existing folder, or a new one")
    for path, text in texts.items():
        if path.exists() and not force and path.read_bytes() != text.encode():
            way = "name another folder, or overwrite it with --force"
            raise UsageError(f"{path} already exists and may hold someone's work: {way}")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        with replacing(path) as file:
            file.write(text.encode())
    return list(texts)


def _head(ours: Sequence[Exercise]) -> Iterator[Cell]:
    chapter, kernels = ours[0].chapter, any(exercise.needs_triton for exercise in ours)
    text = INTRO.format(chapter=chapter, title=chapter_title(chapter), first=ours[0].number)
    yield _cell("markdown", "intro", text, locked=True)
    yield _cell("code", "imports", KERNELS * kernels + IMPORTS, locked=True)


def _cells(exercise: Exercise, solutions: bool) -> Iterator[Cell]:
    place = exercise.number.replace(".", "-")
    answer = source.text(exercise.reference).rstrip("\n")
    check = f'check("{exercise.number}", {exercise.name})'
    if solutions:
        check = HIDDEN.format(check=check, number=exercise.number, name=exercise.name)
    else:
        answer = source.stub(answer)
    title = f"## {exercise.number} {exercise.title} {'★' * exercise.stars}"
    statement = f"{title}\n\n{exercise.statement.strip()}\n\n{exercise.in_vllm}"
    yield _cell("markdown", f"statement-{place}", statement, locked=True)
    yield _cell("code", f"answer-{place}", answer, solution=True)
    yield _cell("code", f"check-{place}", check, grade=True, locked=True, points=exercise.points)


def _cell(kind: str, name: str, text: str, **marks: int) -> Cell:
    """A cell; ``marks`` are what nbgrader is told of it, and without them it is told nothing."""
    made: Cell = {"cell_type": kind, "id": name, "metadata": {}, "source": text.splitlines(True)}
    if kind == "code":
        made |= {"execution_count": None, "outputs": []}
    if marks:
        plain = dict.fromkeys(("grade", "locked", "solution", "task"), False)
        nbgrader = {"grade_id": name, "schema_version": 3, **plain, **marks}
        fixed = {"deletable": False, "editable": False} if nbgrader["locked"] else {}
        made["metadata"] = {"nbgrader": nbgrader, **fixed}
    return made
