"""What a right answer brings about, where there is more than one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
