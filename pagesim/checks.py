"""Checks of arguments: each error names the argument, its value and what it should be."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from pagesim.errors import UsageError

ONLY_INT = frozenset({int})


def check_int(name: str, value: Any, minimum: int) -> int:
    """``value`` if it is an int of at least ``minimum``; TypeError or UsageError if not."""
    if type(value) is not int:
        raise TypeError(f"{name} must be an int, not {value!r} ({type(value).__name__})")
    if value < minimum:
        raise UsageError(f"{name} must be at least {minimum}, not {value}")
    return value


def check_count(name: str, value: Any, minimum: int) -> int:
    """:func:`check_int` for counts, which must fit into 64 bits."""
    if check_int(name, value, minimum) > sys.maxsize:
        raise UsageError(f"{name} must be at most {sys.maxsize}, not {value}")
    return int(value)


def check_bool(name: str, value: Any, *others: Any) -> None:
    """TypeError unless ``value`` is True or False, or one of ``others``."""
    if not isinstance(value, bool) and all(value is not other for other in others):
        words = " or ".join(map(str, (True, False, *others)))
        raise TypeError(f"{name} must be {words}, not {value!r} ({type(value).__name__})")


def check_number(name: str, value: Any) -> None:
    """TypeError unless ``value`` is an int or a float, UsageError if it is NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if value != value:
        raise UsageError(f"{name} must be a number, not {value}")


def check_fraction(name: str, value: Any) -> None:
    """:func:`check_number`, and UsageError unless it is between 0 and 1."""
    check_number(name, value)
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{name} must be between 0 and 1, not {value}")


def check_time(name: str, value: Any) -> float:
    """``value`` if it is a number other than NaN; TypeError or UsageError if not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r} ({type(value).__name__})")
    if value != value:
        raise UsageError(f"{name} must be a time, not {value}, which cannot be compared")
    return value


def check_token_ids(name: str, token_ids: Any) -> list[int]:
    """A list with the tokens of ``token_ids``; TypeError unless each is an int.

    A NumPy array or a tensor is accepted by way of its ``tolist()``.
    """
    if not isinstance(token_ids, (list, tuple)) and (
        isinstance(token_ids, str | bytes) or not isinstance(token_ids, Iterable)
    ):
        raise TypeError(f"{name} must be a list of ints, not {token_ids!r}")
    tokens = list(token_ids)
    if tokens and not ONLY_INT.issuperset(map(type, tokens)):
        at, bad = next((i, t) for i, t in enumerate(tokens) if type(t) is not int)
        raise TypeError(f"{name}[{at}] must be an int, not {bad!r} ({type(bad).__name__})")
    return tokens
