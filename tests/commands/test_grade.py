"""`pagesim grade`: exit codes, the object, the table."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from pagesim import cli
from pagesim.exercises import get

pytestmark = pytest.mark.ch00


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as left:
        cli.main([str(argument) for argument in arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.fixture
def group(tmp_path: Path) -> Path:
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "ann.py").write_text(get("2.1").solution)
    return folder


def test_every_file_graded_is_0(group: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("grade", group, "--json") == 0
    out, err = capsys.readouterr()
    value = json.loads(out)
    assert err == ""
    assert [(s["student"], s["points"]) for s in value["students"]] == [("ann", 1)]
    assert value["points"] >= 1 and not set(value["taken"]) & set(value["left"])


def test_a_file_that_cannot_be_graded_is_1(
    group: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (group / "=eve().ipynb").write_bytes(b"\xff")
    table = tmp_path / "marks.csv"
    assert run("grade", group, "--csv", table) == 1
    assert "not graded: =eve().ipynb: not UTF-8" in capsys.readouterr().out
    with open(table, encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert (rows["ann"]["ex 2.1"], rows["'=eve()"]["points"]) == ("1", "0")


def test_bad_usage_is_2(group: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments in (
        ["grade", empty],
        ["grade", tmp_path / "nowhere"],
        ["grade", group, "--jobs", "0"],
        ["grade", group, "--csv", tmp_path],
    ):
        assert run(*arguments) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("pagesim: ") and err.count("\n") == 1
