"""The cells of a grid: all combinations in order, made one by one, and fit for JSON."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim import UsageError
from pagesim.studies.sweep import sweep
from pagesim.studies.sweep.cells import Cells, check_json
from pagesim.studies.sweep.study import MOST

pytestmark = pytest.mark.ch01

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=2)
GRIDS = st.dictionaries(
    st.text(max_size=3), st.lists(SCALARS, min_size=1, max_size=4), min_size=1, max_size=4
)


@settings(max_examples=25, deadline=None)
@given(GRIDS)
def test_cells_are_the_nested_loops_over_the_lists(grid: dict[str, list[Any]]) -> None:
    cells = Cells(grid)
    expected = [dict(zip(grid, row, strict=True)) for row in itertools.product(*grid.values())]
    assert len(cells) == len(expected)
    # As text, since 1 == True: the types must be the grid's, too, and the names in its order.
    assert [json.dumps(cell) for cell in cells] == [json.dumps(cell) for cell in expected]
    assert [json.dumps(cells[at]) for at in range(len(cells))] == list(map(json.dumps, expected))
    assert cells[-1] == expected[-1] and cells[1:3] == expected[1:3]
    written_out = Cells(iter(expected))
    assert list(written_out) == expected
    assert written_out.digest() == cells.digest()


def test_another_order_or_value_is_another_digest() -> None:
    grids: list[Any] = [{"a": [1, 2]}, {"a": [2, 1]}, {"a": [1]}, {"a": [1, 2.0]}, {"b": [1, 2]}]
    assert len({Cells(grid).digest() for grid in grids}) == len(grids)


def test_a_grid_of_many_cells_is_made_at_once() -> None:
    cells = Cells({"seed": range(10**4), "size": range(10**4), "policy": ["max", "paged"]})
    assert len(cells) == 2 * 10**8
    assert cells[2 * 10**8 - 1] == {"seed": 9_999, "size": 9_999, "policy": "paged"}
    assert cells[3] == {"seed": 0, "size": 1, "policy": "paged"}


@pytest.mark.parametrize("zeros", [11, 20])
def test_more_cells_than_a_sweep_may_have_are_refused_at_once(zeros: int, tmp_path: Path) -> None:
    lists = {str(i): range(10) for i in range(zeros)}
    started = time.perf_counter()
    with pytest.raises(UsageError, match=f"{10**zeros:,} cells, more than the {MOST:,}"):
        sweep(lists, out=tmp_path / "study.jsonl")
    assert time.perf_counter() - started < 1
    assert not list(tmp_path.iterdir())
    assert len(sweep({str(i): range(10) for i in range(6)})) == 10**6 == MOST


def test_the_cells_are_copies() -> None:
    for cells in (Cells({"a": [1]}), Cells([{"a": 1}])):
        cells[0]["a"] = 2
        next(iter(cells))["a"] = 3
        assert cells[0] == {"a": 1}


def test_an_array_is_a_list_of_values() -> None:
    assert list(Cells({"load": np.array([0.5, 1.0])})) == [{"load": 0.5}, {"load": 1.0}]
    assert type(Cells({"size": np.arange(3)})[2]["size"]) is int


@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        ({}, UsageError, "the grid has no cells"),
        ([], UsageError, "the grid has no cells"),
        ({"a": [1], "b": []}, UsageError, "the grid has no cells"),
        ({"policy": "paged"}, TypeError, r"grid\['policy'\] must be a list of values, not 'paged'"),
        ({"size": 16}, TypeError, r"grid\['size'\] must be a list of values, not 16"),
        ({"size": {16, 32}}, TypeError, r"grid\['size'\] must be a list of values"),
        ({3: [16]}, TypeError, "the grid has the key 3"),
        ({"a": [1, object]}, TypeError, r"grid\['a'\]\[1\] is <class 'object'>"),
        ({"a": [{"b": [1j]}]}, TypeError, r"grid\['a'\]\[0\]\['b'\]\[0\] is 1j \(complex\)"),
        ({"a": [float("nan")]}, UsageError, r"grid\['a'\]\[0\] is nan"),
        ({"a": [{1: 2}]}, TypeError, r"grid\['a'\]\[0\] has the key 1"),
        ([{"a": 1}, {"a": np.int64(1)}], TypeError, r"grid\[1\]\['a'\] is np.int64\(1\)"),
        ([{"a": 1}, 2], TypeError, r"grid\[1\] must be a dict with a cell's values, not 2"),
        (7, TypeError, "grid must be a dict of lists or a list of dicts, not 7"),
        ("paged", TypeError, "grid must be a dict of lists or a list of dicts, not 'paged'"),
    ],
)
def test_a_bad_grid_is_refused_before_anything_runs(
    grid: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sweep(grid, dict)


def test_what_json_can_hold_passes() -> None:
    check_json("value", {"a": [None, True, 1, 1.5, "x", (1, {"b": []})]})
