"""What an exercise asks of an answer, one input at a time, and how an answer goes wrong."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Function = Callable[..., Any]
"""An answer: it may return anything, for all that is known before it is called."""
Value: TypeAlias = object
"""What one returns, a student's or the oracle's: to be looked at before it is relied on."""


@dataclass(frozen=True)
class Case:
    """One input, and its words for a student.

    ``words`` say it; empty, each argument is given by name. ``tag`` is the property that
    the case has and the smaller ones have not: what :class:`Wrong` names in ``shown_by``.
    """

    args: tuple[Any, ...]
    words: str = ""
    tag: str = ""


@dataclass(frozen=True)
class Wrong:
    """A typical wrong answer, and the belief that it comes from.

    ``misconception`` is one sentence in the student's words; ``shown_by`` the tag (or the words)
    of the case on which the function fails first.
    """

    function: Function
    misconception: str
    shown_by: str


@dataclass(frozen=True)
class Goal:
    """An ``expected`` that is not a single value.

    ``like`` is a value of the kind that is asked for, and ``words`` are what a student reads in
    place of it. ``accepts(yours)`` measures an answer; it is asked about anything, and must refuse
    nonsense in little time. Without it, what a page's ``why`` has no word against is right.
    """

    like: Any
    words: str
    accepts: Callable[[Any], bool] | None = None
