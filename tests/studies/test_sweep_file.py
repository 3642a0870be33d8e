"""The output file: written line by line, taken up from any byte, never mixed with another's."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pagesim import UsageError
from pagesim.studies.sweep import Sweep, sweep
from tests.studies.functions import Inline, area, fragile

GRID = {"width": [1, 2], "height": [3, 4]}
CELLS = [{"width": width, "height": height} for width in (1, 2) for height in (3, 4)]

FIRST = """
import sys, time
from pagesim.studies.sweep import sweep
from tests.studies.functions import Inline, area

grid = {"width": [1, 2], "height": [3, 4]}
for one in sweep(grid, area, executor=Inline(), out=sys.argv[1], in_flight=1):
    print(one.index, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "study.jsonl"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(out: Path, function: Any = fragile, grid: Any = GRID) -> tuple[Sweep, int]:
    """The sweep after its run, and how many cells that ran."""
    pool = Inline()
    return sweep(grid, function, executor=pool, out=out, in_flight=1).run(), pool.submitted


def test_a_line_for_each_cell_as_soon_as_it_is_given(out: Path) -> None:
    study = sweep(GRID, fragile, executor=Inline(), out=out, in_flight=1)
    assert not out.exists(), "nothing is written before anything runs"
    for given, _ in enumerate(study, 1):
        assert len(out.read_bytes().splitlines()) >= 1 + given
    header, *lines = lines_of(out)
    assert header["format"] == "pagesim sweep"
    assert header["function"] == "tests.studies.functions.fragile"
    assert [line["cell"] for line in lines] == CELLS
    assert lines[0]["value"] == {"area": 3} and lines[0]["error"] is None
    assert lines[2]["value"] is None and "no room" in lines[2]["error"]
    assert "in fragile" in lines[2]["traceback"]


def test_only_what_failed_is_run_again(out: Path) -> None:
    first, ran = run(out)
    assert ran == 4 and len(first.failures) == 1
    before = out.read_bytes()
    waiting = sweep(GRID, fragile, executor=Inline(), out=out)
    assert waiting.results == first.results and waiting.failures == []
    assert out.read_bytes() == before, "reading writes nothing"
    again, ran = run(out)
    assert ran == 1 and len(again.failures) == 1
    assert out.read_bytes().startswith(before) and len(lines_of(out)) == 6


def test_a_process_killed_at_any_byte_loses_at_most_the_line_it_wrote(out: Path) -> None:
    whole, _ = run(out, area)
    content = out.read_bytes()
    ends = [at for at, byte in enumerate(content) if byte == 10]
    for size in {*range(0, len(content), 23), *ends, *(end + 1 for end in ends[:-1])}:
        out.write_bytes(content[:size])
        kept = max(content[:size].count(b"\n") - 1, 0)
        again, ran = run(out, area)
        assert ran == 4 - kept, f"cut to {size} bytes"
        assert [one.value for one in again.results] == [one.value for one in whole.results]
        assert [line["cell"] for line in lines_of(out)[1:]] == CELLS, f"cut to {size} bytes"


def test_resumed_results_are_the_fresh_ones(out: Path) -> None:
    grid = [{"a": (1, 2), "b": {"c": None}}]
    first, _ = run(out, dict, grid)
    again, ran = run(out, dict, grid)
    assert ran == 0 and again.results == first.results
    assert again.results[0].cell == grid[0] and again.results[0].value["a"] == [1, 2]


@pytest.mark.parametrize(
    ("function", "grid", "line"),
    [
        (area, GRID, 1),
        (fragile, GRID | {"height": [3]}, 3),
        (fragile, {"width": [1, 2], "size": [3, 4]}, 2),
        (fragile, {"width": [1, 2], "height": [3, 5]}, 3),
    ],
)
def test_the_file_of_another_sweep_is_left_alone(
    out: Path, function: Any, grid: Any, line: int
) -> None:
    run(out)
    out.write_bytes(out.read_bytes() + b'{"torn')
    before = out.read_bytes()
    with pytest.raises(UsageError, match=rf"study\.jsonl:{line} does not belong .*another file"):
        sweep(grid, function, executor=Inline(), out=out)
    assert out.read_bytes() == before


def test_a_grid_may_grow(out: Path) -> None:
    run(out, area)
    study, ran = run(out, area, {"height": [2, 3, 4], "width": [1, 2]})
    assert ran == 2 and [one.index for one in study.results] == list(range(6))
    assert [one.value["area"] for one in study.results if one.value] == [2, 4, 3, 6, 4, 8]


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"notes", b"[1]\n", b"\xff\n", b"[" * 9999])
def test_a_file_that_is_no_sweeps_is_left_alone(out: Path, content: bytes) -> None:
    out.write_bytes(content)
    with pytest.raises(UsageError, match=r"study.jsonl:1 does not belong to this sweep"):
        sweep(GRID, area, executor=Inline(), out=out)
    assert out.read_bytes() == content


@pytest.mark.parametrize("change", [{"cell": {"width": 7, "height": 7}}, {"more": 1}], ids=str)
def test_a_damaged_line_is_named(out: Path, change: dict[str, Any]) -> None:
    run(out, area)
    lines = lines_of(out)
    lines[4] |= change
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(
        UsageError, match=r"study.jsonl:5 does not belong to this sweep .*remove the line"
    ):
        sweep(GRID, area, executor=Inline(), out=out)


def test_what_another_sweep_wrote_meanwhile_is_not_run_again(out: Path) -> None:
    pool = Inline()
    one = sweep(GRID, area, executor=pool, out=out)
    run(out, area)
    before = out.read_bytes()
    assert len(list(one)) == 4 and pool.submitted == 0
    assert out.read_bytes() == before


@contextmanager
def another_process(out: Path) -> Iterator[None]:
    """One that runs the same sweep, has kept a cell, and goes on until it is killed."""
    child = subprocess.Popen(
        [sys.executable, "-c", FIRST, str(out)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdout is not None
    with child, child.stdout:
        try:
            child.stdout.readline()
            yield
        finally:
            child.kill()


def test_a_second_writer_is_refused_until_the_first_is_killed(out: Path) -> None:
    link = out.with_name("link.jsonl")
    link.symlink_to(out)
    with another_process(out):
        before = out.read_bytes()
        for name in (out, link):
            study = sweep(GRID, area, executor=Inline(), out=name)
            with pytest.raises(UsageError, match=rf"{name.name} is being written by another sweep"):
                study.run()
        assert out.read_bytes() == before
    study, ran = run(out, area)
    assert ran == 3 and len(study.results) == 4
    assert len(out.read_text().splitlines()) == 5
    assert {path.name for path in out.parent.iterdir()} == {"study.jsonl", "link.jsonl"}


def test_two_loops_in_one_process(out: Path) -> None:
    one = iter(sweep(GRID, area, executor=Inline(), out=out, in_flight=1))
    next(one)
    with pytest.raises(UsageError, match="is being written by another sweep"):
        run(out, area)
    assert len(list(one)) == 3 and len(out.read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("study.jsonl.gz", area, "without .gz"),
        ("none/study.jsonl", area, "there is no folder"),
        ("study.jsonl", lambda width, height: {}, "identifies functions by name"),
        ("study.jsonl", partial(area, height=3), r"partial\(.* has none: use def"),
    ],
)
def test_a_file_that_could_not_be_taken_up_is_not_begun(
    tmp_path: Path, name: str, function: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        sweep(GRID, function, executor=Inline(), out=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="pipes as POSIX has them")
def test_a_file_that_cannot_be_read_back_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="cannot be continued"):
        sweep(GRID, area, executor=Inline(), out=tmp_path / "pipe")
