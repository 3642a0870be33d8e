"""A sweep gives its cells as they finish, loses none to another's failure, and can be left."""

from __future__ import annotations

import doctest
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import tqdm.auto
import tqdm.std

from pagesim import UsageError
from pagesim.studies.sweep import CellResult, study, sweep
from pagesim.studies.sweep.runner import IN_FLIGHT
from tests.studies.sweep.functions import Answering, Inline, area, fragile

pytestmark = pytest.mark.ch01

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
    tried = doctest.testmod(study)
    assert tried.attempted == 5 and tried.failed == 0


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
        ({"a": [np.int64(3)]}, r"TypeError: value['a'][0] is np.int64(3) (int64), which JSON"),
        ({"a": float("inf")}, "value['a'] is inf, which JSON cannot represent: use None"),
        ({1: 2}, "TypeError: value has the key 1"),
    ],
)
def test_what_json_cannot_hold_is_a_failed_cell(value: Any, message: str) -> None:
    (one,) = sweep({"a": [1]}, lambda a: value, executor=Inline())
    assert one.error is not None and message in one.error


def test_values_are_what_a_file_would_give_back() -> None:
    (one,) = sweep([{"a": (1, 2)}], lambda a: {"a": a}, executor=Inline())
    assert one.cell == {"a": (1, 2)} and one.value == {"a": [1, 2]}


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


@pytest.mark.parametrize(("in_flight", "bound"), [(5, 5), (None, IN_FLIGHT)])
def test_no_more_cells_are_submitted_than_may_be_in_flight(
    in_flight: int | None, bound: int
) -> None:
    pool, given = Inline(), 0
    study = sweep({"cell": range(6 * bound)}, dict, executor=pool, in_flight=in_flight)
    for _ in study:
        given += 1
        # At most those fetched and not given yet, and as many under way.
        assert pool.submitted <= given - 1 + 2 * bound
    assert given == pool.submitted == 6 * bound


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


def test_one_loop_at_a_time() -> None:
    study = sweep(GRID, area, executor=Inline(), in_flight=1)
    with pytest.raises(UsageError, match="already running"):
        list(zip(study, study, strict=True))
    assert areas(study.run().results) == AREAS


def test_a_cell_whose_worker_is_lost_runs_once_more() -> None:
    """Another cell may have been the cause: Dask blames all that waited at a dead worker."""
    lost = OSError("the worker is lost")
    pool = Answering([None, lost, lost, None, None, lost])
    study = sweep(GRID, area, executor=pool).run()
    assert [one.index for one in study.results] == [0, 1, 3]
    assert [one.index for one in study.failures] == [2]
    assert study.failures[0].error == "OSError: the worker is lost"


def test_no_call_equals_another() -> None:
    """Dask runs equal calls once, and would answer a second attempt with the first's failure."""
    pool = Answering([OSError(), None])
    for _ in range(2):
        sweep([{"a": 1}], dict, executor=pool).run()
        pool.answers += [None]
    assert len(pool.calls) == len(set(map(str, pool.calls))) == 3


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
    lines = out.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + len(study.results) and all(line.endswith(b"\n") for line in lines)
    again = sweep(GRID, interrupting, executor=Inline(), out=out)
    assert again.results == study.results


def told(calls: list[tuple[int, int]]) -> Callable[[int, int], None]:
    return lambda done, total: calls.append((done, total))


def test_progress_is_told_cell_by_cell(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    out = tmp_path / "study.jsonl"
    sweep(GRID, fragile, executor=Inline(), progress=told(calls), out=out).run()
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    calls.clear()
    sweep(GRID, fragile, executor=Inline(), progress=told(calls), out=out).run()
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


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
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
        sweep(GRID, **{"function": area, "executor": Inline()} | options)
