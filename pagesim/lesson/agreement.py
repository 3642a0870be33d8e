"""Whether a prediction says what is true, or what kind of thing was asked for instead."""

import math
from ast import literal_eval
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Any, TypeAlias

Guess: TypeAlias = "float | str | Sequence[Guess] | Set[Guess] | Mapping[str, Guess] | None"
"""What may be predicted: a number, a word, a list, a set, or a dict of these; None is none yet."""
_KINDS: tuple[tuple[Any, str], ...] = (
    (bool, "True or False"),
    (int | float, "a number"),
    (str, "a word"),
    (Mapping, "a dict"),
    (Set | list, "a list"),
)


def agrees(mine: Any, truth: Any, within: float = 0.0) -> bool:
    """Whether a prediction says what is true, however it is written.

    A list may equal a tuple, or be a text that reads like one; one thing may stand in a list of
    its own, or not; capitals and spaces of a word do not count.
    """
    mine, truth = _alike(mine, truth)
    if isinstance(truth, Mapping):
        same_keys = isinstance(mine, Mapping) and mine.keys() == truth.keys()
        return same_keys and all(agrees(mine[key], truth[key], within) for key in truth)
    if isinstance(truth, Set):
        return (
            isinstance(mine, Set | list)
            and all(any(agrees(m, t, within) for t in truth) for m in mine)
            and all(any(agrees(m, t, within) for m in mine) for t in truth)
        )
    if isinstance(truth, list):
        return (
            isinstance(mine, list)
            and len(mine) == len(truth)
            and all(map(agrees, mine, truth, [within] * len(truth)))
        )
    if isinstance(truth, str):
        return isinstance(mine, str) and _letters(mine) == _letters(truth)
    if isinstance(truth, bool) or isinstance(mine, bool):
        return mine is truth
    if isinstance(truth, int) and isinstance(mine, int):
        return mine == truth
    if isinstance(truth, int | float) and isinstance(mine, int | float):
        return _is_near(mine, truth, 0.0 if isinstance(truth, int) else within)
    return bool(mine == truth)


def unlike(mine: Guess, truth: Guess) -> str:
    """What was asked for and what was written, if these are of two kinds; else nothing."""
    mine, truth = _alike(mine, truth)
    if isinstance(mine, Mapping) and isinstance(truth, Mapping):
        if mine.keys() != truth.keys():
            return f"the parts are {_names(truth)}, not {_names(mine)}"
        parts = {key: unlike(mine[key], truth[key]) for key in truth}
        return "; ".join(f"{key}: {words}" for key, words in parts.items() if words)
    asked, written = _kind(truth), _kind(mine)
    return "" if asked == written else f"{asked} is asked for, not {written}"


def _alike(mine: Any, truth: Any) -> tuple[Any, Any]:
    """Both as plain values; mine in the form of the truth, if it can be read so."""
    mine, truth = plain(mine), plain(truth)
    if isinstance(mine, str) and not isinstance(truth, str):
        mine = plain(_read(mine))
    deeper = _depth(truth) - _depth(mine)
    if deeper == 1 and len(truth) == 1:
        mine = [mine]
    elif deeper == -1 and len(mine) == 1:
        (mine,) = mine
    return plain(mine), truth


def _depth(value: Guess) -> int:
    """0 for one thing, 1 for a list of things, 2 for a list of lists."""
    if not isinstance(value, list | tuple | Set):
        return 0
    return 1 + max(map(_depth, value), default=0)


def _read(text: str) -> Any:
    """The value that a text is meant to be: "[0, 1]" is a list and "1/16" a number."""
    try:
        if "/" in text:
            top, bottom = text.split("/")
            return float(top) / float(bottom)
        return literal_eval(text.strip())
    except (ValueError, SyntaxError, ArithmeticError, MemoryError, RecursionError):
        return text


def _names(parts: Iterable[Hashable]) -> str:
    return ", ".join(map(str, parts)) or "none"


def _letters(word: str) -> str:
    return "".join(word.split()).casefold()


def _is_near(mine: float, truth: float, within: float) -> bool:
    try:  # 1e-9, because 0.1 + 0.2 is not 0.3
        return math.isclose(mine, truth, rel_tol=1e-9, abs_tol=within * abs(truth))
    except OverflowError:  # an int beyond all floats
        return mine == truth


def _kind(value: Guess) -> str:
    for kind, words in _KINDS:
        if isinstance(value, kind):
            return words
    return f"a {type(value).__name__}"


def plain(value: object) -> Any:
    """A tuple as a list, and a NumPy or torch value as the Python value."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, tuple | range) else value
