"""`pagesim sweep`: a grid in, a line a cell out."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pagesim.commands.sweep import ROWS
from tests.commands.runs import answer, run

pytestmark = pytest.mark.ch01


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """No processes, which take a second to start."""
    monkeypatch.setattr("pagesim.studies.sweep._process", lambda: ThreadPoolExecutor(1))


def test_a_sweep_is_a_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    grid, out = tmp_path / "grid.json", tmp_path / "study.jsonl"
    workload = {"name": "sharegpt_like", "n": 9, "seed": 1}
    grid.write_text(json.dumps({"workload": [workload], "policy": ["max", "paged"]}))
    value = answer(capsys, "sweep", grid, "-o", out)
    assert (value["cells"], value["done"], value["failed"]) == (2, 2, 0)
    assert len(out.read_text().splitlines()) == 3
    grid.write_text(json.dumps({"workload": [workload], "policy": ["max"], "block_size": [8]}))
    assert run("sweep", grid, "-o", tmp_path / "other.jsonl") == 1
    assert "block_size=8 does not apply to Contiguous" in capsys.readouterr().out
    grid.write_text(json.dumps({str(i): list(range(10**3)) for i in range(4)}))
    assert run("sweep", grid, "-o", tmp_path / "third.jsonl") == 2
    assert "1,000,000,000,000 cells, but a sweep has at most" in capsys.readouterr().err


@pytest.mark.usefixtures("threads")
def test_a_table_has_what_differs_and_what_came_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    grid = tmp_path / "grid.json"
    workload = {"name": "sharegpt_like", "n": 9, "seed": 1}
    machines = {"model": ["llama-3.1-8b"], "gpu": ["a100-80gb", "h100"], "policy": ["max", "v1"]}
    grid.write_text(json.dumps({"workload": [workload], **machines}))
    assert run("sweep", grid, "-o", tmp_path / "study.jsonl") == 0
    head, *rows, end = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head[:4] == ["cell", "gpu", "policy", "finished"]
    axes = [("a100-80gb", "max"), ("a100-80gb", "v1"), ("h100", "max"), ("h100", "v1")]
    assert [row[:4] for row in rows] == [[str(i), *axis, "9"] for i, axis in enumerate(axes)]
    assert end[:4] == ["4", "of", "4", "cells"]


@pytest.mark.usefixtures("threads")
def test_what_is_wrong_is_a_line_for_each_reason(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    grid = tmp_path / "grid.json"
    workload = {"name": "sharegpt_like", "n": 9, "seed": 1}
    machines = {"gpu": ["b200", "h100"], "policy": ["max", "paged"], "block_size": [8]}
    grid.write_text(json.dumps({"workload": [workload, "nowhere.csv"], **machines}))
    assert run("sweep", grid, "-o", tmp_path / "study.jsonl") == 1
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    lines = [line for line in out.splitlines() if "cell " in line]
    assert len(lines) == 4
    for words, cells in (("unknown GPU 'b200'", 2), ("nowhere.csv", 4), ("block_size=8", 1)):
        (line,) = (each for each in lines if words in each)
        assert (f" and {cells - 1} more: " in line) == (cells > 1), line
    assert "1 of 8 cells done" in out


@pytest.mark.usefixtures("threads")
def test_a_cell_whose_requests_wait_forever_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trace, grid = tmp_path / "never.csv", tmp_path / "grid.json"
    trace.write_text("arrival_s,prompt_tokens,output_tokens\n0,4,2\n0,90,2\n")
    grid.write_text(
        json.dumps({"workload": [str(trace)], "policy": ["paged", "v1"], "pool": [64, 640]})
    )
    assert run("sweep", grid, "-o", tmp_path / "study.jsonl", "--json") == 1
    value = json.loads(capsys.readouterr().out)
    assert (value["done"], value["failed"], value["stuck"]) == (4, 0, [2])
    assert run("sweep", grid, "-o", tmp_path / "study.jsonl") == 1
    assert "forever in the cells 2" in capsys.readouterr().out


@pytest.mark.usefixtures("threads")
def test_many_rows_are_shown_in_part(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    grid, out = tmp_path / "grid.json", tmp_path / "study.jsonl"
    workload = {"name": "sharegpt_like", "n": 1, "seed": 1}
    grid.write_text(json.dumps({"workload": [workload], "warmup": [i / 99 for i in range(ROWS)]}))
    assert run("sweep", grid, "-o", out) == 0
    assert len(capsys.readouterr().out.splitlines()) == ROWS + 2
    grid.write_text(
        json.dumps({"workload": [workload], "warmup": [i / 99 for i in range(ROWS + 2)]})
    )
    assert run("sweep", grid, "-o", tmp_path / "more.jsonl") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == ROWS + 3 and lines[-2] == "and 2 more"


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "grid.json: not JSON"), ("3", "grid.json: "), ('{"policy": 3}', "grid.json: ")],
)
def test_a_bad_grid_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str
) -> None:
    grid = tmp_path / "grid.json"
    grid.write_text(text)
    assert run("sweep", grid, "-o", tmp_path / "study.jsonl") == 2
    stderr = capsys.readouterr().err
    assert message in stderr and stderr.count("\n") == 1
    assert not (tmp_path / "study.jsonl").exists()
