"""A cell that asks is run at least twice: as it is, and with a prediction in it."""

from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

from pagesim.lesson.agreement import agrees
from tests.notebooks.chapters import CHAPTERS, chapter
from tests.notebooks.test_try_it import ASKED, play, sections


@pytest.mark.course
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_cell_that_asks_can_be_run_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and when the whole chapter has been run: its names may be others' then."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAGESIM_PROGRESS", str(tmp_path / "progress.json"))
    space: dict[str, Any] = {"__name__": "chapter"}
    cells = [cell for _, cells in sections(chapter(name)) for cell in cells]
    right = {}
    for cell in cells:
        play([cell], space)
        if ASKED.search(cell.source):
            right[cell.id] = truths(cell, space)
            play([cell], space)
            assert_same(cell, space, right)
    for cell in cells:
        if cell.id in right or ".reveal()" in cell.source:
            play([cell], space)
        if cell.id in right:
            assert_same(cell, space, right)


def truths(cell: NotebookNode, space: dict[str, Any]) -> list[Any]:
    return [space[name].truth() for name in ASKED.findall(cell.source)]


def assert_same(cell: NotebookNode, space: dict[str, Any], right: dict[str, Any]) -> None:
    again = truths(cell, space)
    assert agrees(again, right[cell.id]), f"{cell.id}: {right[cell.id]}, and again: {again}"
