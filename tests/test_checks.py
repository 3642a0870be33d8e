"""A call that is given junk says which argument it is, and what it should be."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pagesim.checks import check_fraction, explained, misfit
from pagesim.errors import UsageError


@dataclass
class Pair:
    """A record."""

    left: list[int]
    right: str | None


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1, int),
        (1, float),
        (1.5, float),
        (None, int | None),
        ("ab", str | int),
        ([1, 2], Sequence[int]),
        (range(3), Iterable[int]),
        ((x for x in "ab"), Iterable[int]),  # it can be looked at once only
        ({1: "a"}, Iterable[int]),
        ({"a": [1]}, Mapping[str, Sequence[int]]),
        ((1, "a"), tuple[int, str]),
        ((1, 2, 3), tuple[int, ...]),
        (Pair([1], None), Pair),
        ([object()], list[Any]),
        (3, "no type"),
    ],
)
def test_what_fits(value: Any, hint: Any) -> None:
    assert misfit("it", value, hint) is None


@pytest.mark.parametrize(
    ("value", "hint", "place", "kind"),
    [
        (True, int, "it", "int"),
        (True, float, "it", "float"),
        (1.0, int, "it", "int"),
        (0, bool, "it", "False"),
        ("x", int | None, "it", "int or None"),
        ("x", Sequence[str], "it", "Sequence"),
        (b"x", Iterable[int], "it", "Iterable"),
        ([1, None], Sequence[int], "it[1]", "int"),
        (np.array([5]), Sequence[int], "it[0]", "int"),
        ({"a": [1, "b"]}, Mapping[str, list[int]], "it['a'][1]", "int"),
        ({1: []}, Mapping[str, list[int]], "a key of it", "str"),
        ((1, 2), tuple[int, str], "it[1]", "str"),
        ((1, "a"), tuple[int, ...], "it[1]", "int"),
        (Pair([1, "x"], ""), Pair, "it.left[1]", "int"),  # type: ignore[list-item]
        ("x" * 10_000, int, "it", "int"),
    ],
)
def test_what_does_not_fit_is_named(value: Any, hint: Any, place: str, kind: str) -> None:
    wrong = misfit("it", value, hint) or ""
    assert wrong.startswith(f"{place} ") and kind in wrong
    assert len(wrong) < 200


@explained
def half(number: int, *, names: Sequence[str] = ()) -> int:
    if number == 7:
        raise KeyError("wrong")
    return number // 2 + len("".join(names))


def test_an_error_that_no_argument_explains_stays_what_it_is() -> None:
    assert half(4) == 2
    with pytest.raises(KeyError, match="wrong"):
        half(7)
    with pytest.raises(TypeError, match="number must be an int, not 'x'"):
        half("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"names\[0\] must be a str"):
        half(4, names=[3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        half()  # type: ignore[call-arg]


def test_a_fraction_may_be_all_or_nothing() -> None:
    for value in (0, 0.0, 1, 1.0):
        check_fraction("share", value)
    for value in (-0.01, 1.01):
        with pytest.raises(UsageError, match=str(value)):
            check_fraction("share", value)
