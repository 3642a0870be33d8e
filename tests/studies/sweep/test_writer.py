"""One writer for a sweep's file: the second one is told who the first is, and loses nothing."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pagesim import UsageError
from pagesim.studies.sweep import sweep, writer
from pagesim.studies.sweep.cells import CellResult, Cells
from pagesim.studies.sweep.output import SweepFile
from tests.studies.sweep.functions import Inline, area

pytestmark = pytest.mark.ch01

GRID = {"width": [1, 2], "height": [3, 4]}
FIRST = """
import sys, time
from pagesim.studies.sweep import sweep
from tests.studies.sweep.functions import Inline, area

grid = {"width": [1, 2], "height": [3, 4]}
for one in sweep(grid, area, executor=Inline(), out=sys.argv[1], in_flight=1):
    print(one.index, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "study.jsonl"


def names(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir())


@contextmanager
def another_process(out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """One that runs the same sweep, has kept a cell, and goes on."""
    child = subprocess.Popen(
        [sys.executable, "-c", FIRST, str(out)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    assert child.stdout is not None
    try:
        child.stdout.readline()
        yield child
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_the_second_writer_is_told_who_the_first_is(out: Path) -> None:
    with another_process(out) as first:
        before = out.read_bytes()
        study = sweep(GRID, area, executor=Inline(), out=out)
        who = rf"process {first.pid} on {re.escape(socket.gethostname())} since 20\d\d-"
        with pytest.raises(UsageError, match=rf"study\.jsonl is being written by {who}"):
            study.run()
        assert out.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="links as POSIX has them")
def test_a_link_is_the_file(out: Path) -> None:
    link = out.with_name("link.jsonl")
    link.symlink_to(out)
    with another_process(out) as first:
        study = sweep(GRID, area, executor=Inline(), out=link)
        with pytest.raises(
            UsageError, match=rf"link\.jsonl is being written by process {first.pid}"
        ):
            study.run()


def test_a_writer_that_was_killed_is_none_any_more(out: Path) -> None:
    with another_process(out):
        pass
    study = sweep(GRID, area, executor=Inline(), out=out).run()
    assert [one.value["area"] for one in study.results if one.value] == [3, 4, 6, 8]
    assert len(out.read_text().splitlines()) == 5
    assert names(out) == ["study.jsonl"]


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_the_file_alone(out: Path, number: int) -> None:
    with another_process(out) as first:
        first.send_signal(number)
        assert first.wait(30) != 0
        assert names(out) == ["study.jsonl"]


def test_two_loops_in_one_process(out: Path) -> None:
    one = iter(sweep(GRID, area, executor=Inline(), out=out, in_flight=1))
    next(one)
    with pytest.raises(UsageError, match=f"by process {os.getpid()} on"):
        sweep(GRID, area, executor=Inline(), out=out).run()
    assert len(list(one)) == 3
    assert len(out.read_text().splitlines()) == 5
    assert names(out) == ["study.jsonl"]


def test_lines_of_another_writer_are_not_cut_off(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system without locks."""

    def none(descriptor: int) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(writer, "_lock", none)
    file = SweepFile(out, area, Cells(GRID))
    with pytest.warns(UserWarning, match="cannot be locked .*Function not implemented"):
        file.open()
    with out.open("ab") as other:
        other.write(b'{"index": 3}\n')
    before = out.read_bytes()
    with pytest.raises(UsageError, match="has changed since"):
        file.add(CellResult({}, {}, None, 0.0, 0))
    file.close()
    assert out.read_bytes() == before


def test_a_file_that_cannot_be_read_back_is_refused(tmp_path: Path) -> None:
    if os.name != "posix":
        pytest.skip("pipes as POSIX has them")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="cannot be read back"):
        sweep(GRID, area, executor=Inline(), out=tmp_path / "pipe")
    with pytest.raises(UsageError, match="is a folder"):
        sweep(GRID, area, executor=Inline(), out=tmp_path)
