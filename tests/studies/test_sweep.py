"""A sweep gives its cells as they finish, loses none to another's failure, and can be left."""

import doctest
import json
import multiprocessing
import signal
import sys
import time
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import tqdm.auto
import tqdm.std

from pagesim import UsageError
from pagesim.studies import cells
from pagesim.studies import sweep as module
from pagesim.studies.cells import MOST, CellResult, cells_of
from pagesim.studies.sweep import sweep
from tests.studies.functions import Answering, Inline, area, deadly, fragile

GRID = {"width": [1, 2], "height": [3, 4]}
AREAS = [3, 4, 6, 8]


def areas(results: list[CellResult]) -> list[int]:
    return [one.value["area"] for one in results if one.value is not None]


def test_results_in_the_order_of_the_grid() -> None:
    with ThreadPoolExecutor(2) as pool:
        study = sweep(GRID, area, executor=pool)
        assert len(study) == 4 and study.results == []
        assert study.run() is study
        assert pool.submit(int).result() == 0, "the caller's executor is the caller's"
    assert areas(study.results) == AREAS
    assert [one.cell for one in study.results][1:3] == [
        {"width": 1, "height": 4},
        {"width": 2, "height": 3},
    ]
    assert [one.index for one in study.results] == [0, 1, 2, 3]
    assert all(one.ok and one.seconds >= 0 for one in study.results) and not study.failures


def test_the_example_of_the_docstring() -> None:
    tried = doctest.testmod(module)
    assert tried.attempted == 3 and tried.failed == 0


def test_a_cell_is_given_as_soon_as_it_is_finished() -> None:
    first_may_end = Event()

    def wait(cell: int) -> dict[str, int]:
        if cell == 0:
            assert first_may_end.wait(60)
        return {"cell": cell}

    order = []
    with ThreadPoolExecutor(2) as pool:
        for one in sweep({"cell": [0, 1]}, wait, executor=pool):
            order.append(one.index)
            first_may_end.set()
    assert order == [1, 0]


def test_one_failed_cell_does_not_lose_the_others() -> None:
    study = sweep(GRID, fragile, executor=Inline()).run()
    assert areas(study.results) == [3, 4, 8]
    (failed,) = study.failures
    assert failed.cell == {"width": 2, "height": 3} and failed.index == 2
    assert failed.value is None and not failed.ok
    assert failed.error == "ValueError: no room for 2 by 3"
    assert failed.traceback is not None and "in fragile" in failed.traceback
    assert repr(study).startswith("sweep of 4 cells: 3 done, 1 failed, 0 to do\n  cell 2 {'width'")
    assert "in fragile" in repr(study) and "in fragile" in str(failed)


def test_many_failures_are_named_in_part() -> None:
    study = sweep({"cell": range(8)}, lambda cell: {}[cell], executor=Inline()).run()
    assert "8 failed" in repr(study) and "and 3 more in .failures" in repr(study)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "TypeError: the function must return a dict, not 3"),
        ({"a": [np.int64(3)]}, "TypeError: value['a'] is [np.int64(3)], which JSON cannot"),
        ({"a": float("inf")}, "value['a'] is inf, which JSON cannot represent"),
    ],
)
def test_what_json_cannot_hold_is_a_failed_cell(value: Any, message: str) -> None:
    (one,) = sweep({"a": [1]}, lambda a: value, executor=Inline())
    assert one.error is not None and message in one.error


def test_an_exit_of_a_cell_is_its_own() -> None:
    study = sweep({"code": [1, 2]}, exit, executor=Inline()).run()
    assert [one.error is not None for one in study.failures] == [True, True]


def test_no_cell_sees_what_another_did_to_its_values() -> None:
    def greedy(sizes: list[int], seed: int) -> dict[str, int]:
        sizes.append(seed)
        return {"sizes": len(sizes)}

    study = sweep({"sizes": [[1, 2]], "seed": [5, 6]}, greedy, executor=Inline()).run()
    assert [one.value for one in study.results] == [{"sizes": 3}, {"sizes": 3}]
    assert study.results[0].cell == {"sizes": [1, 2], "seed": 5}


@pytest.mark.parametrize(("in_flight", "bound"), [(5, 5), (None, 1024)])
def test_no_more_cells_are_submitted_than_may_be_in_flight(
    in_flight: int | None, bound: int
) -> None:
    pool, given = Inline(), 0
    limit = {} if in_flight is None else {"in_flight": in_flight}
    study = sweep({"cell": range(3 * bound)}, dict, executor=pool, **limit)
    for _ in study:
        given += 1
        # At most those fetched and not given yet, and as many under way.
        assert pool.submitted <= given - 1 + 2 * bound
    assert given == pool.submitted == 3 * bound


def test_a_loop_that_is_left_can_be_begun_again() -> None:
    pool = Inline()
    study = sweep(GRID, area, executor=pool, in_flight=1)
    first = next(iter(study))
    assert first.index == 0 and 1 <= len(study.results) < 4
    assert "to do" in repr(study) and ", 0 to do" not in repr(study)
    assert sorted(one.index for one in study) == [0, 1, 2, 3]
    assert sorted(one.index for one in study) == [0, 1, 2, 3]
    assert pool.submitted == 4, "a cell was run twice"


def test_what_is_pending_is_cancelled_when_the_loop_is_left() -> None:
    pool = Answering([None, ..., ..., ...])
    for _ in sweep(GRID, area, executor=pool):
        break
    assert [future.cancelled() for future in pool.futures] == [False, True, True, True]


def test_no_call_equals_another() -> None:
    """Dask runs equal calls once, and would answer a second attempt with the first's failure."""
    pool = Answering([OSError(), None])
    for _ in range(2):
        sweep([{"a": 1}], dict, executor=pool).run()
    assert len(set(pool.calls)) == 2


def test_a_broken_executor_ends_the_sweep_and_loses_nothing(tmp_path: Path) -> None:
    out = tmp_path / "study.jsonl"
    pool = Answering([None, BrokenExecutor("all workers are gone"), None, None])
    study = sweep(GRID, area, executor=pool, out=out)
    with pytest.raises(BrokenExecutor, match="all workers are gone"):
        study.run()
    assert [one.index for one in study.results] == [0, 2, 3] and not study.failures
    again = Inline()
    assert areas(sweep(GRID, area, executor=again, out=out).run().results) == AREAS
    assert again.submitted == 1


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    out = tmp_path / "study.jsonl"

    def interrupting(width: int, height: int) -> dict[str, int]:
        if (width, height) == (2, 3):
            signal.raise_signal(signal.SIGINT)
            Event().wait(0.01)
        return {"area": width * height}

    with ThreadPoolExecutor(1) as pool:
        study = sweep(GRID, interrupting, executor=pool, out=out)
        with pytest.raises(KeyboardInterrupt):
            study.run()
    assert areas(study.results)[:2] == [3, 4], "done before the signal came"
    # If the signal comes right after a line is written, the line is written once more.
    lines = set(out.read_bytes().splitlines(keepends=True))
    assert len(lines) == 1 + len(study.results) and all(line.endswith(b"\n") for line in lines)
    again = sweep(GRID, interrupting, executor=Inline(), out=out)
    assert again.results == study.results


def test_progress_cell_by_cell(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    out = tmp_path / "study.jsonl"
    sweep(GRID, fragile, executor=Inline(), progress=lambda *two: calls.append(two), out=out).run()
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    calls.clear()
    sweep(GRID, fragile, executor=Inline(), progress=lambda *two: calls.append(two), out=out).run()
    assert calls == [(4, 4)], "three were in the file"


def test_a_bar_shows_how_far_it_is_and_what_failed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another test of this process may have started IPython's shell: then it would be a widget.
    monkeypatch.setattr("tqdm.auto.tqdm", tqdm.std.tqdm)
    sweep(GRID, fragile, executor=Inline(), progress=True).run()
    shown = capsys.readouterr()
    assert "4/4" in shown.err and "failed=1" in shown.err and shown.out == ""
    assert "cell 2 {'width': 2, 'height': 3}: ValueError: no room for 2 by 3\n" in shown.err
    sweep(GRID, fragile, executor=Inline()).run()
    assert capsys.readouterr().err == "", "no terminal, no bar"


class Client:
    """What a Dask client looks like from here: it submits, but is no executor."""

    def submit(self) -> None: ...

    def get_executor(self) -> Executor:
        return Inline()


BAD_GRIDS: list[tuple[object, type[Exception], str]] = [
    ({}, UsageError, "the grid has no cells"),
    ([], UsageError, "the grid has no cells"),
    ({"a": [1], "b": []}, UsageError, "the grid has no cells"),
    ({"policy": "paged"}, TypeError, r"grid\['policy'\] must be a list of values, not 'paged'"),
    ({"size": 16}, TypeError, r"grid\['size'\] must be a list of values, not 16"),
    ({"size": {16, 32}}, TypeError, r"grid\['size'\] must be a list of values"),
    ({"a": [1, object]}, TypeError, r"grid\['a'\]\[1\] is <class 'object'>"),
    ({"a": [float("nan")]}, UsageError, r"grid\['a'\]\[0\] is nan"),
    ([{"a": 1}, {"a": np.int64(1)}], TypeError, r"grid\[1\]\['a'\] is np.int64\(1\)"),
    ([{"a": 1}, 2], TypeError, r"grid\[1\] must be a dict with a cell's values, not 2"),
    (7, TypeError, "grid must be a dict of lists or a list of dicts, not 7"),
    ("paged", TypeError, "grid must be a dict of lists or a list of dicts, not 'paged'"),
]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        *(({"grid": grid}, error, message) for grid, error, message in BAD_GRIDS),
        ({"function": 3}, TypeError, "function must be callable"),
        ({"executor": Client()}, TypeError, r"not <.*Client.*; for a Dask client, pass client.g"),
        ({"in_flight": 0}, UsageError, "in_flight must be at least 1, not 0"),
        ({"progress": "yes"}, TypeError, "progress must be True, False, None or a function"),
    ],
)
def test_bad_arguments_are_named(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sweep(**{"grid": GRID, "function": area, "executor": Inline()} | options)


def test_the_cells_are_the_nested_loops_over_the_lists() -> None:
    grid = {"b": [0.5, True], "a": np.arange(2), "c": [None, {"x": 1}]}
    expected = [
        {"b": b, "a": a, "c": c} for b in (0.5, True) for a in (0, 1) for c in (None, {"x": 1})
    ]
    assert [json.dumps(cell) for cell in cells_of(grid)] == list(map(json.dumps, expected))
    again = cells_of(iter(expected))
    assert again == expected and again[0] is not expected[0], "the caller's may change"


def test_more_cells_than_a_sweep_may_have_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = time.perf_counter()
    with pytest.raises(UsageError, match=f"{10**11:,} cells, .*at most {MOST:,}"):
        sweep({str(i): range(10) for i in range(11)}, out=tmp_path / "study.jsonl")
    assert time.perf_counter() - started < 1
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(cells, "MOST", 100)
    assert len(sweep({"a": range(10), "b": range(10)})) == 100
    with pytest.raises(UsageError, match="101 cells"):
        sweep({"a": range(101)})


def test_a_cell_that_kills_its_process_fails_alone(tmp_path: Path) -> None:
    before = multiprocessing.active_children()
    study = sweep(GRID, deadly, out=tmp_path / "study.jsonl", in_flight=1).run()
    assert [one.value for one in study.results] == [{"area": 3}, {"area": 4}, {"area": 8}]
    (failed,) = study.failures
    assert failed.index == 2 and failed.error is not None and "BrokenProcessPool" in failed.error
    assert multiprocessing.active_children() == before


def test_a_function_that_a_new_process_cannot_find(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no module's, or its module's name means nothing there, as `__main__` of a notebook."""
    before = multiprocessing.active_children()

    def cell() -> dict[str, int]:
        return {}

    with pytest.raises(UsageError, match=r"a new process cannot run .*ThreadPoolExecutor"):
        sweep([{}], cell).run()
    monkeypatch.setitem(sys.modules, "no_such_module", sys.modules[fragile.__module__])
    monkeypatch.setattr(fragile, "__module__", "no_such_module")
    with pytest.raises(UsageError, match=r"a new process cannot run .*must be importable"):
        sweep(GRID, fragile).run()
    assert multiprocessing.active_children() == before
