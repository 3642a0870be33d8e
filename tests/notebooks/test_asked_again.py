"""A cell that asks is run at least twice: as it is, and with a prediction in it."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from pagesim.lesson.agreement import agrees
from tests.notebooks.chapters import CHAPTERS, chapter
from tests.notebooks.test_try_it import run, sections


@pytest.mark.course
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_cell_that_asks_can_be_run_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAGESIM_PROGRESS", str(tmp_path / "progress.json"))
    space: dict[str, Any] = {"__name__": "chapter"}
    for _, cells in sections(chapter(name)):
        for cell in cells:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                run(cell.source, cell.id, space)
                for asked in re.findall(r"(\w+) = pagesim\.predict\(", cell.source):
                    first = space[asked].truth()
                    run(cell.source, cell.id, space)
                    again = space[asked].truth()
                    assert agrees(again, first), f"{cell.id}: {first}, and again: {again}"
