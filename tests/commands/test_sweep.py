"""`pagesim sweep`: a grid in, a line a cell out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.runs import answer, run

pytestmark = pytest.mark.ch01


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
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1
    assert not (tmp_path / "study.jsonl").exists()
