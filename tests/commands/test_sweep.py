"""`pagesim sweep`: a grid in, a line a cell out."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pagesim.commands.sweep import ROWS
from tests.commands.runs import Shell, requests

pytestmark = pytest.mark.ch01


NINE = {"name": "sharegpt_like", "n": 9, "seed": 1}


def sweep(folder: Path, out: str = "study.jsonl", **grid: Any) -> tuple[object, ...]:
    """The words of a command that sweeps a grid."""
    (folder / "grid.json").write_text(json.dumps(grid))
    return "sweep", folder / "grid.json", "-o", folder / out


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """No processes, which take a second to start."""
    monkeypatch.setattr("pagesim.studies.sweep._process", lambda: ThreadPoolExecutor(1))


def test_a_sweep_is_a_command(shell: Shell, tmp_path: Path) -> None:
    value = shell.answer(*sweep(tmp_path, workload=[NINE], policy=["max", "paged"]))
    assert (value["cells"], value["done"], value["failed"]) == (2, 2, 0)
    assert len((tmp_path / "study.jsonl").read_text().splitlines()) == 3
    other = sweep(tmp_path, "other.jsonl", workload=[NINE], policy=["max"], block_size=[8])
    assert "block_size=8 does not apply to Contiguous" in shell(*other, code=1)
    large = {str(i): list(range(10**3)) for i in range(4)}
    error = shell.refusal(*sweep(tmp_path, "third.jsonl", **large))
    assert "1,000,000,000,000 cells, but a sweep has at most" in error


@pytest.mark.usefixtures("threads")
def test_a_table_has_what_differs_and_what_came_out(shell: Shell, tmp_path: Path) -> None:
    machines = {"model": ["llama-3.1-8b"], "gpu": ["a100-80gb", "h100"], "policy": ["max", "v1"]}
    lines = shell(*sweep(tmp_path, workload=[NINE], **machines)).splitlines()
    head, *rows, end = map(str.split, lines)
    assert head[:4] == ["cell", "gpu", "policy", "finished"]
    axes = [("a100-80gb", "max"), ("a100-80gb", "v1"), ("h100", "max"), ("h100", "v1")]
    assert [row[:4] for row in rows] == [[str(i), *axis, "9"] for i, axis in enumerate(axes)]
    assert end[:4] == ["4", "of", "4", "cells"]


@pytest.mark.usefixtures("threads")
def test_what_is_wrong_is_a_line_for_each_reason(shell: Shell, tmp_path: Path) -> None:
    machines = {"gpu": ["b200", "h100"], "policy": ["max", "paged"], "block_size": [8]}
    given = sweep(tmp_path, workload=[NINE, "nowhere.csv"], **machines)
    out, err = shell.printed(*given, code=1)
    assert "Traceback" not in out + err
    lines = [line for line in out.splitlines() if "cell " in line]
    assert len(lines) == 4
    for words, cells in (("unknown GPU 'b200'", 2), ("nowhere.csv", 4), ("block_size=8", 1)):
        (line,) = (each for each in lines if words in each)
        assert (f" and {cells - 1} more: " in line) == (cells > 1), line
    assert "1 of 8 cells done" in out


@pytest.mark.usefixtures("threads")
def test_a_cell_whose_requests_wait_forever_is_named(shell: Shell, tmp_path: Path) -> None:
    trace = requests(tmp_path / "never.csv", "0,4,2", "0,90,2")
    given = sweep(tmp_path, workload=[str(trace)], policy=["paged", "v1"], pool=[64, 640])
    value = shell.answer(*given, code=1)
    assert (value["done"], value["failed"], value["stuck"]) == (4, 0, [2])
    assert "forever in the cells 2" in shell(*given, code=1)


@pytest.mark.usefixtures("threads")
def test_many_rows_are_shown_in_part(shell: Shell, tmp_path: Path) -> None:
    workload = [NINE | {"n": 1}]
    few = sweep(tmp_path, workload=workload, warmup=[i / 99 for i in range(ROWS)])
    assert len(shell(*few).splitlines()) == ROWS + 2
    many = [i / 99 for i in range(ROWS + 2)]
    lines = shell(*sweep(tmp_path, "more.jsonl", workload=workload, warmup=many)).splitlines()
    assert len(lines) == ROWS + 3 and lines[-2] == "and 2 more"


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "grid.json: not JSON"), ("3", "grid.json: "), ('{"policy": 3}', "grid.json: ")],
)
def test_a_bad_grid_is_one_line(shell: Shell, tmp_path: Path, text: str, message: str) -> None:
    grid = tmp_path / "grid.json"
    grid.write_text(text)
    assert message in shell.refusal("sweep", grid, "-o", tmp_path / "study.jsonl")
    assert not (tmp_path / "study.jsonl").exists()
