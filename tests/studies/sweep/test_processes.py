"""The pool of processes that a sweep makes itself, and one of the caller's."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from pagesim import UsageError
from pagesim.studies.sweep import runner, sweep
from tests.studies.sweep.functions import area, deadly, fragile

pytestmark = pytest.mark.ch01

GRID = {"width": [1, 2], "height": [3, 4]}


def test_a_cell_that_kills_its_process_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = multiprocessing.active_children()
    monkeypatch.setattr(runner, "_cores", lambda: 1)
    study = sweep(GRID, deadly, out=tmp_path / "study.jsonl").run()
    assert [one.value for one in study.results] == [{"area": 3}, {"area": 4}, {"area": 8}]
    (failed,) = study.failures
    assert failed.index == 2 and failed.error is not None and "BrokenProcessPool" in failed.error
    assert multiprocessing.active_children() == before


def test_a_pool_of_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        study = sweep(GRID, area, executor=pool).run()
        assert len(sweep(GRID, fragile, executor=pool).run().failures) == 1
    assert [one.value["area"] for one in study.results if one.value] == [3, 4, 6, 8]
    assert os.getpid() not in {one.value["process"] for one in study.results if one.value}


def test_a_function_that_a_new_process_cannot_find(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook __main__ is no file: a process started afresh would look for it in vain."""

    def cell() -> dict[str, int]:
        return {}

    with pytest.raises(UsageError, match=r"cannot be sent to a process .*ThreadPoolExecutor"):
        sweep([{}], cell).run()
    monkeypatch.setattr(cell, "__module__", "__main__")
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    with pytest.raises(UsageError, match="a new process cannot import it: put it into a module"):
        sweep([{}], cell).run()


def only_here() -> dict[str, int]:
    """Taken out of its module's reach below."""
    return {}


def test_a_process_that_ends_at_once_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a script has no `if __name__ == "__main__"`, or the folder is not on the path."""
    before = multiprocessing.active_children()
    module = ModuleType("no_such_module")
    module.only_here = only_here  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "no_such_module", module)
    monkeypatch.setattr(only_here, "__module__", "no_such_module")
    with pytest.raises(
        UsageError, match=r"a new process ends .* no_such_module\.only_here: it must"
    ):
        sweep([{}], only_here).run()
    assert multiprocessing.active_children() == before
