"""The output file: written line by line, taken up from any byte, never mixed with another's."""

from __future__ import annotations

import json
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from pagesim import UsageError
from pagesim.studies.sweep import Sweep, sweep
from pagesim.studies.sweep.cells import CellResult, Cells
from pagesim.studies.sweep.output import SweepFile
from tests.studies.sweep.functions import Inline, area, fragile

pytestmark = pytest.mark.ch01

GRID = {"width": [1, 2], "height": [3, 4]}
CELLS = [{"width": width, "height": height} for width in (1, 2) for height in (3, 4)]


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
    assert header["format"] == "pagesim sweep" and header["cells"] == 4
    assert header["function"] == "tests.studies.sweep.functions.fragile"
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


def test_a_finished_sweep_runs_nothing_and_gives_everything(out: Path) -> None:
    first, _ = run(out, area)
    before = out.read_bytes()
    again, ran = run(out, area)
    assert ran == 0 and again.results == first.results and len(list(again)) == 4
    assert out.read_bytes() == before


def test_a_process_killed_at_any_byte_loses_at_most_the_line_it_wrote(out: Path) -> None:
    whole, _ = run(out, area)
    content = out.read_bytes()
    ends = [at for at, byte in enumerate(content) if byte == 10]
    for size in {*range(0, len(content), 9), *ends, *(end + 1 for end in ends[:-1])}:
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
    ("function", "grid", "message"),
    [
        (area, GRID, "it has function 'tests.studies.sweep.functions.fragile', not 'tests"),
        (fragile, GRID | {"height": [3]}, "it has cells 4, not 2"),
        (fragile, {"width": [1, 2], "size": [3, 4]}, r"it has names \['height', 'width'\], not"),
        (fragile, {"width": [1, 2], "height": [3, 5]}, "it has other values, not the grid given"),
        (fragile, {"height": [3, 4], "width": [1, 2]}, "it has other values, not the grid given"),
    ],
)
def test_the_file_of_another_sweep_is_left_alone(
    out: Path, function: Any, grid: Any, message: str
) -> None:
    run(out)
    out.write_bytes(out.read_bytes() + b'{"torn')
    before = out.read_bytes()
    with pytest.raises(UsageError, match=message) as raised:
        sweep(grid, function, executor=Inline(), out=out)
    assert str(out) in str(raised.value) and "give out another name" in str(raised.value)
    assert out.read_bytes() == before


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"notes", b"[1]\n", b"\xff\n", b"[" * 9999])
def test_a_file_that_is_no_sweeps_is_left_alone(out: Path, content: bytes) -> None:
    out.write_bytes(content)
    with pytest.raises(UsageError, match=r"study.jsonl is not the output of a sweep"):
        sweep(GRID, area, executor=Inline(), out=out)
    assert out.read_bytes() == content


@pytest.mark.parametrize(
    "change",
    [
        {"index": 9},
        {"index": -1},
        {"index": "1"},
        {"cell": {"width": 7, "height": 7}},
        {"value": None},
        {"more": 1},
    ],
    ids=str,
)
def test_a_damaged_line_is_named(out: Path, change: dict[str, Any]) -> None:
    run(out, area)
    lines = lines_of(out)
    lines[4] |= change
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UsageError, match=r"study.jsonl:5 is not a cell of this sweep .*remove the"):
        sweep(GRID, area, executor=Inline(), out=out)


def test_two_sweeps_do_not_write_to_one_file(out: Path) -> None:
    one = sweep(GRID, area, executor=Inline(), out=out)
    run(out, area)
    before = out.read_bytes()
    with pytest.raises(UsageError, match="has changed since this sweep read it"):
        one.run()
    assert out.read_bytes() == before


def test_a_full_disk_leaves_no_half_a_line(out: Path) -> None:
    file = SweepFile(out, area, Cells(GRID))
    file.open()
    results = [CellResult(cell, {}, None, 0.0, at) for at, cell in enumerate(CELLS)]
    file.add(results[0])
    before = out.read_bytes()

    class Full(FileIO):
        def write(self, data: Any) -> int:
            if len(data) < 50:
                raise OSError("No space left on device")
            return super().write(data[:50])

    plain, file._file = file._file, Full(out, "ab")
    with pytest.raises(OSError, match="No space left"):
        file.add(results[1])
    assert out.read_bytes() == before
    assert plain is not None
    file._file.close()
    file._file = plain
    file.add(results[2])
    file.close()
    assert sorted(SweepFile(out, area, Cells(GRID)).done) == [0, 2]


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("study.jsonl.gz", area, "cannot be compressed: omit .gz"),
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
