"""All exercises, chapter by chapter; a chapter's module is imported when it is asked for."""

from __future__ import annotations

import functools
import pkgutil
from importlib import import_module
from pathlib import Path

from pagesim.errors import UsageError
from pagesim.exercises.exercise import Exercise


@functools.cache
def exercises() -> tuple[Exercise, ...]:
    """Every exercise in the order of its number."""
    folders = [
        name
        for _, name, package in pkgutil.iter_modules([str(Path(__file__).parent)])
        if package and name.startswith("ch")
    ]
    found = [
        exercise
        for name in sorted(folders)
        for exercise in import_module(f"pagesim.exercises.{name}").EXERCISES
    ]
    return tuple(sorted(found, key=lambda e: [int(part) for part in e.number.split(".")]))


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
