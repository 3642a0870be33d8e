"""`pagesim grade`: exit codes, the object, the table."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pagesim.exercises import get
from tests.commands.runs import Shell
from tests.exercises.grading.warm import forked, forked_pools

__all__ = ["forked", "forked_pools"]

pytestmark = pytest.mark.ch00
fork = pytest.mark.usefixtures("forked_pools")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def group(tmp_path: Path) -> Path:
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "ann.py").write_text(get("2.1").solution)
    return folder


@fork
def test_every_file_graded_is_0(group: Path, shell: Shell) -> None:
    value = shell.answer("grade", group)
    assert [(s["student"], s["points"]) for s in value["students"]] == [("ann", 1)]
    assert value["points"] >= 1 and not set(value["taken"]) & set(value["left"])


@fork
def test_a_file_that_cannot_be_graded_is_1(group: Path, tmp_path: Path, shell: Shell) -> None:
    (group / "=eve().ipynb").write_bytes(b"\xff")
    table = tmp_path / "marks.csv"
    assert "not graded: =eve().ipynb: not UTF-8" in shell("grade", group, "--csv", table, code=1)
    with open(table, encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert (rows["ann"]["ex 2.1"], rows["'=eve()"]["points"]) == ("1", "0")


def test_bad_usage_is_2(group: Path, tmp_path: Path, shell: Shell) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments in (
        ["grade", empty],
        ["grade", tmp_path / "nowhere"],
        ["grade", group, "--jobs", "0"],
        ["grade", group, "--csv", tmp_path],
    ):
        shell.refusal(*arguments)


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_ends_all_of_it(group: Path, tmp_path: Path) -> None:
    (group / "ann.py").write_text("import time\ntime.sleep(60)\ndef slots(): ...")
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    grading = subprocess.Popen(
        [sys.executable, "-m", "pagesim", "grade", group],
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until = time.monotonic() + 60
    while not list(scratch.glob("pagesim-grade-*")):  # the submission's folder
        assert time.monotonic() < until and grading.poll() is None
        time.sleep(0.05)
    os.killpg(grading.pid, signal.SIGINT)
    out, err = grading.communicate(timeout=60)
    assert (grading.returncode, out, err.strip()) == (130, "", "")
    assert not list(scratch.glob("pagesim-grade-*"))
