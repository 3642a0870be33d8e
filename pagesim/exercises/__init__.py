"""Exercises of the course, with checkers that show the smallest case on which an answer fails.

from pagesim.exercises import check, hint, solution, progress
check("2.1", slots)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pagesim.exercises.exercise import Exercise
from pagesim.exercises.registry import exercises, get
from pagesim.exercises.verdict import Verdict

__all__ = ["all", "check", "get"]


def all() -> list[Exercise]:
    """Every exercise, in the order of the course."""
    return list(exercises())


def check(number: str, f: Callable[..., Any]) -> Verdict:
    """Whether ``f`` is right, and if not, the smallest case that shows it."""
    return get(number).check(f)
