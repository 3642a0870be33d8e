"""Exercises of the course, with checkers that show the smallest case on which an answer fails.

from pagesim.exercises import check, hint, progress, solution
check("2.1", slots)     # right, or the case, your answer and vLLM's, and the run to step through
hint("2.1")             # each call the next of three
solution("2.1")         # asks first
progress()              # what was tried, from a file beside the notebook

An exercise is a module in ``ch00`` … ``ch16``, and docs/EXERCISES.md says how to write one.
``page`` and ``writing`` read such a module, and ``source`` takes the students' version and the
wrong answers from its text. ``exercise`` tries an answer on the cases, behind ``guard`` and
``deadline``, so that whatever it does counts as an answer. ``shrink`` looks for a smaller case on
which it fails, and ``verdict`` and ``beside`` show that case to the student. ``kit``, ``acts`` and
``launching`` are what several exercises use. ``grading`` runs the answers of a class.
"""

from pagesim.exercises.exercise import Exercise
from pagesim.exercises.registry import exercises, get
from pagesim.exercises.student import check, hint, progress, solution

__all__ = ["all", "check", "get", "hint", "progress", "solution"]


def all() -> list[Exercise]:
    """Return all exercises, in the order of the course."""
    return list(exercises())
