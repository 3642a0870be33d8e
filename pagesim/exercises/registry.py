"""All exercises, chapter by chapter; a chapter's module is imported when it is asked for."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from pagesim.errors import UsageError
from pagesim.exercises import writing
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.page import is_page


@functools.cache
def exercises() -> tuple[Exercise, ...]:
    """Every exercise in the order of its number."""
    found = [
        writing.exercise(module) if is_page(module) else module.EXERCISE
        for module in _modules()
        if is_page(module) or hasattr(module, "EXERCISE")
    ]
    return tuple(sorted(found, key=lambda e: [int(part) for part in e.number.split(".")]))


def _modules() -> Iterator[ModuleType]:
    """The modules of all chapters."""
    here = Path(__file__).parent
    for folder in sorted(here.glob("ch[0-9][0-9]")):
        for file in sorted(folder.glob("[!_]*.py")):
            yield import_module(f"pagesim.exercises.{folder.name}.{file.stem}")


def chapter_title(chapter: int) -> str:
    """The title of a chapter, which its package has as docstring."""
    return str(import_module(f"pagesim.exercises.ch{chapter:02}").__doc__).strip().rstrip(".")


def get(number: str) -> Exercise:
    """The exercise with a number like "2.1"; UsageError if there is none."""
    for exercise in exercises():
        if exercise.number == number:
            return exercise
    known = ", ".join(exercise.number for exercise in exercises())
    raise UsageError(f"there is no exercise {number!r:.40}; there are {known}")
