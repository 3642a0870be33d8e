"""Comparing a student's answer with the simulator's: by value, whatever container holds it.

A NumPy array, a tensor, a tuple, a range and a deque are lists here, what is looked up by a key or
has no order is not; a bool is not an int, and NaN equals nothing.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from pagesim.exercises.case import Goal, Value

SHOWN = 300
"""Characters of an answer that a student reads."""
KINDS = {type(None): "None", bool: "a bool", int: "an int", float: "a float", str: "a string"}
PLAIN = frozenset(KINDS)
TEXT = str | bytes | bytearray | memoryview
KINDS |= {list: "a list", dict: "a dict", set: "a set"}

Same = Callable[[Any, Any], bool]
"""Whether a student's value is as good as the right one."""


def plain(value: Value) -> Any:
    """The value in Python's own types: arrays and tensors become lists, NumPy's numbers ours."""
    if type(value) in PLAIN:  # most values, at no cost
        return value
    if isinstance(value, Goal):
        return plain(value.like)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple) or (
        isinstance(value, Sequence) and not isinstance(value, TEXT)
    ):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return {_key(key) for key in value}
    return value


def _key(key: Value) -> Any:
    """The same for what must stay hashable."""
    return key.tolist() if hasattr(key, "tolist") else key


def is_data(value: Value) -> bool:
    """Whether a plain value holds nothing but numbers, strings and None."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | set):
        return all(map(is_data, value))
    return value is None or isinstance(value, int | float | str)


def equal_values(yours: Value, expected: Value) -> bool:
    """Whether the two are the same numbers in the same order, exactly; a `Goal` says it itself."""
    if isinstance(expected, Goal):
        return expected.accepts is not None and expected.accepts(plain(yours))
    return _same(plain(yours), plain(expected), lambda a, b: bool(a == b))


def close(rtol: float = 1e-6, atol: float = 0.0) -> Same:
    """A comparison that lets floats differ by ``atol + rtol * |expected|``."""

    def near(a: Any, b: Any) -> bool:
        if isinstance(b, float) and math.isfinite(b):
            return bool(abs(a - b) <= atol + rtol * abs(b))
        return bool(a == b)

    return lambda yours, expected: _same(plain(yours), plain(expected), near)


def _same(yours: Any, expected: Any, near: Same) -> bool:
    if not _fits(yours, expected):
        return False
    if isinstance(expected, list):
        return len(yours) == len(expected) and all(
            _same(a, b, near) for a, b in zip(yours, expected, strict=True)
        )
    if isinstance(expected, dict):
        return yours.keys() == expected.keys() and all(
            _same(yours[key], expected[key], near) for key in expected
        )
    return near(yours, expected)


def _fits(yours: Value, expected: Value) -> bool:
    """Whether the type is the one asked for; an int is welcome where a float is."""
    return type(yours) is type(expected) or (type(yours) is int and type(expected) is float)


def wrong_type(yours: Value, expected: Value) -> str:
    """One sentence if the answer is not of the kind that was asked for, else nothing."""
    asked = expected.like if isinstance(expected, Goal) else expected
    given = plain(yours)
    if isinstance(asked, tuple) and not isinstance(given, list) and given is not None:
        values = f"{len(asked)} values, as return a, b gives them"
        return f"The answer must be {values}, not {kind(given)}."
    return _wrong_type(plain(yours), plain(expected), "The answer")


def _wrong_type(yours: Any, expected: Any, where: str, inside: bool = False) -> str:
    if inside and (yours is None or expected is None):
        return ""  # None may be a value there: no owner, no block
    if yours is None and expected is not None:
        return f"{where} is None: is a return missing?"
    if not _fits(yours, expected):
        return f"{where} must be {kind(expected)}, not {kind(yours)}."
    if isinstance(expected, list):
        for place, (a, b) in enumerate(zip(yours, expected, strict=False)):
            if wrong := _wrong_type(a, b, f"Element {place}", inside=True):
                return wrong
    return ""


def kind(value: Value) -> str:
    """A value's type in words."""
    name = type(value).__name__
    return KINDS.get(type(value), f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}")


def has_nan(value: Value) -> bool:
    """Whether a NaN is anywhere in it."""
    value = plain(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return any(map(has_nan, value))
    return isinstance(value, float) and math.isnan(value)


def difference(yours: Value, expected: Value) -> str:
    """Where two lists differ first, in one sentence: for those too long to be read.

    Nothing where a `Goal` is asked for: what it is like is not what it is.
    """
    if isinstance(expected, Goal):
        return ""
    a, b, place = plain(yours), plain(expected), ""
    while isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            where = f" at {place}" if place else ""
            return f"The number of elements{where} must be {len(b)}, not {len(a)}."
        roundly = close(1e-3, 1e-6)  # a rounding before it is not what matters
        unlike = [i for i, pair in enumerate(zip(a, b, strict=True)) if not roundly(*pair)]
        if not unlike:
            return ""
        a, b, place = a[unlike[0]], b[unlike[0]], f"{place}[{unlike[0]}]"
    if not place or isinstance(b, dict):
        return ""  # a dict is too much to be read at a glance: the page says what it is
    return f"The first difference is at {place}: yours is {shown(a, 80)}, right is {shown(b, 80)}."


def shown_apart(yours: Value, expected: Value) -> tuple[str, str]:
    """Both as a student reads them; if they begin alike, from the element on that differs."""
    a, b = plain(yours), plain(expected)
    if shown(yours) == shown(expected) and isinstance(a, list) and isinstance(b, list):
        start = next((i for i, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]), 0)
        return f"… {shown(a[start:])}", f"… {shown(b[start:])}"
    return shown(yours), shown(expected)


def shown(value: Value, limit: int = SHOWN) -> str:
    """A value as a student reads it, at most ``limit`` characters."""
    if isinstance(value, Goal):
        return value.words
    try:
        text = repr(plain(value))
    except Exception as error:  # a __repr__ may be anything
        text = f"{kind(value)} that cannot be printed ({type(error).__name__})"
    return text if len(text) <= limit else text[: limit - 1] + "…"
