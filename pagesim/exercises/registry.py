"""All exercises, chapter by chapter; a chapter's modules are imported when it is asked for."""

import functools
from importlib import import_module
from pathlib import Path

from pagesim.errors import UsageError
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.page import is_page
from pagesim.exercises.writing import exercise

_CHAPTERS = sorted(Path(__file__).parent.glob("ch[0-9][0-9]"))


@functools.cache
def exercises() -> tuple[Exercise, ...]:
    """Every exercise in the order of its number."""
    return tuple(exercise for folder in _CHAPTERS for exercise in _written(folder))


@functools.cache
def _written(folder: Path) -> list[Exercise]:
    """The pages of a chapter, which are found by how they begin."""
    names = [f"pagesim.exercises.{folder.name}.{file.stem}" for file in folder.glob("[!_]*.py")]
    found = [exercise(module) for module in map(import_module, names) if is_page(module)]
    return sorted(found, key=lambda e: [int(part) for part in e.number.split(".")])


def chapter_title(chapter: int) -> str:
    """The title of a chapter, which its package has as docstring."""
    return str(import_module(f"pagesim.exercises.ch{chapter:02}").__doc__).strip().rstrip(".")


def get(number: str) -> Exercise:
    """Return the exercise with a number such as "2.1"; UsageError if there is none."""
    chapter = str(number).partition(".")[0].zfill(2)
    for folder in _CHAPTERS:
        if folder.name == f"ch{chapter}":
            for exercise in _written(folder):
                if exercise.number == number:
                    return exercise
    known = ", ".join(exercise.number for exercise in exercises())
    raise UsageError(f"there is no exercise {number!r:.40}; there are {known}")
