"""Answers are compared by value, exactly, or within a tolerance that the exercise names."""

import math
from collections import deque
from typing import Any

import numpy as np
import pytest

from pagesim.exercises.values import (
    close,
    difference,
    equal_values,
    has_nan,
    is_data,
    shown,
    wrong_type,
)

NAN = math.nan


@pytest.mark.parametrize(
    ("yours", "expected"),
    [
        ((1, 2), [1, 2]),
        (np.array([1, 2]), [1, 2]),
        ([np.int64(1), 2], [1, 2]),
        ({"a": (1,)}, {"a": [1]}),
        ([1, [2.5, None]], [1.0, [2.5, None]]),
        (np.bool_(True), True),
        ({1, 2}, {2, 1}),
        (-math.inf, -math.inf),
        ("LATER", "LATER"),
        (range(1, 3), [1, 2]),
        (deque([np.int32(1), 2]), [1, 2]),
        ([range(2), deque()], [[0, 1], []]),
        (np.float32(0.5), 0.5),
    ],
)
def test_the_same(yours: Any, expected: Any) -> None:
    assert equal_values(yours, expected) and close(1e-9)(yours, expected)
    assert wrong_type(yours, expected) == ""


@pytest.mark.parametrize(
    ("yours", "expected"),
    [
        ([1, 2], [1, 2, 3]),
        ([1, 3], [1, 2]),
        (True, 1),
        (1, True),
        (1.0, 1),
        (NAN, NAN),
        ([NAN], [NAN]),
        (None, 0),
        ({"a": 1}, {"a": 1, "b": 2}),
        ("1", 1),
        ([[1]], [1]),
        (True, 1.0),
        ([1, False], [1.0, 0.0]),
        ("12", ["1", "2"]),
        (b"12", [49, 50]),
        ({1: "a", 2: "b"}, [1, 2]),
        ({1, 2}, [1, 2]),
    ],
)
def test_not_the_same(yours: Any, expected: Any) -> None:
    assert not equal_values(yours, expected) and not close(1e-9)(yours, expected)


def test_close_bounds_the_difference_of_floats_alone() -> None:
    assert close(0.1)(1.05, 1.0) and not close(0.1)(1.2, 1.0) and not close(0.1)(0.8, 1.0)
    assert close(0.0, atol=0.1)([0.05], [0.0]) and not close(0.1)([0.05], [0.0])
    assert close(0.1, 0.1)(1.15, 1.0) and not close(0.1, 0.1)(1.25, 1.0), "their sum"
    assert not close(0.1)(101, 100), "an int is exact"
    assert not close(0.1)(NAN, 1.0) and not close(0.1)(math.inf, 1.0)
    assert not close(0.1)(1e300, math.inf) and close(0.1)(math.inf, math.inf)


def test_nan_is_found_wherever_it_is() -> None:
    assert all(map(has_nan, [NAN, [1, [NAN]], {"a": NAN}, np.array([[1.0, NAN]])]))
    assert not any(map(has_nan, [1.0, [1, [2]], {"a": math.inf}, "nan", None]))


def test_what_is_data() -> None:
    assert is_data([1, {"a": [None, 2.5, "x"]}, {3}]) and not is_data([1, [object()]])
    assert not is_data({object(): 1}) and not is_data({"a": object()})


@pytest.mark.parametrize(
    ("yours", "word"),
    [("12", "a string"), ({1: 2}, "a dict"), ({1, 2}, "a set"), (b"12", "bytes"), (True, "a bool")],
)
def test_what_is_no_list_is_refused_by_name(yours: Any, word: str) -> None:
    assert word in wrong_type(yours, [1, 2])
    assert wrong_type(yours, (1, 2)).startswith("The answer must be 2 values, as return a, b")


def test_values_are_shown_briefly_whatever_they_are() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shown(np.array([1, 2])) == "[1, 2]"
    assert len(shown(list(range(1000)))) == 300 and shown(list(range(1000))).endswith("…")
    assert shown(Odd()) == "an Odd that cannot be printed (RuntimeError)"


def test_the_first_difference_is_named() -> None:
    said = difference([1, [2, 3]], [1, [2, 4]])
    assert said == "The first difference is at [1][1]: yours is 3, right is 4."
    said = difference([[1], [1, 2]], [[1], [1]])
    assert said == "The number of elements at [1] must be 1, not 2."
    assert difference([1], [1, 2]) == "The number of elements must be 2, not 1."
    said = difference([1, NAN], [1, 2.0])
    assert said == "The first difference is at [1]: yours is nan, right is 2.0."
    assert difference([1.0000001, 2.0], [1.0, 3.0]).startswith("The first difference is at [1]")
    assert difference([1], [1]) == "" and difference(1, 2) == ""
