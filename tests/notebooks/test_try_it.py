"""The Try-it lines run as they are written: what they tell is done in the chapter, and executed."""

from __future__ import annotations

import ast
import io
import linecache
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

from tests.notebooks.chapters import CHAPTERS, chapter
from tests.notebooks.try_it import Try, lines_of


def try_it_lines(notebook: NotebookNode) -> dict[int, str]:
    """The lines of a chapter by their number; 0 is one in the middle."""
    lines: dict[int, str] = {}
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        text, _, listed = cell.source.partition("### Try it\n")
        for line in re.findall(r"\*Try it:\*([^\n]+(?:\n[^\n]+)*)", text):
            assert 0 not in lines, "one such line a chapter can be named"
            lines[0] = line
        for number, line in re.findall(r"^(\d)\. (.+(?:\n   .+)*)", listed, re.MULTILINE):
            lines[int(number)] = line
    return {number: " ".join(line.split()) for number, line in lines.items()}


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_try_it_line_is_in_the_table(name: str) -> None:
    lines = try_it_lines(chapter(name))
    told = {number: said for number, (said, _) in lines_of(name).items()}
    assert lines.keys() == told.keys()
    for number, said in told.items():
        assert said in lines[number], f"{name}, Try it {number}: the table says what it does not"


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_line_names_a_cell_by_its_id(name: str) -> None:
    """JupyterLab shows no ids."""
    notebook = chapter(name)
    ids = {cell.id for cell in notebook.cells if "-" in cell.id}
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert {word for word in re.findall(r"`([^`]+)`", prose) if word in ids} == set()


def sections(notebook: NotebookNode) -> Iterator[tuple[int, list[NotebookNode]]]:
    """The code cells of each section with its number; 0 is what comes before the first."""
    number, cells = 0, []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if begins := re.match(r"## (\d+)\. ", cell.source):
                yield number, cells
                number, cells = int(begins[1]), []
        elif not re.search(r"^[!%]", cell.source, re.MULTILINE) and not _is_machine(cell):
            cells.append(cell)
    yield number, cells


def _is_machine(cell: NotebookNode) -> bool:
    return "machine" in cell.metadata.get("tags", [])


def run(source: str, name: str, space: dict[str, Any]) -> None:
    """Execute a cell; what its last line shows is asked for as Jupyter does."""
    # Its source can be looked up, as in Jupyter: triton.jit does.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), space)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), name, "eval"), space)
        if hasattr(value, "_repr_html_"):
            value._repr_html_()


def changed(source: str, replacements: dict[str, str]) -> str:
    for old, new in replacements.items():
        assert source.count(old) == 1, f"{old!r} is there {source.count(old)} times"
        source = source.replace(old, new)
    return source


def attempt(cells: list[NotebookNode], trial: Try, space: dict[str, Any]) -> str:
    """Run these cells with the trial's changes; returns what was printed."""
    ids = {cell.id for cell in cells}
    assert trial.changes.keys() <= ids, f"not in section {trial.sections}: {trial.changes}"
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        for cell in cells:
            run(changed(cell.source, trial.changes.get(cell.id, {})), cell.id, space)
        run(trial.then, "then", space)
    return printed.getvalue()


@pytest.mark.course
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # 0 / 0, where a line asks for it
@pytest.mark.parametrize("name", CHAPTERS)
def test_what_the_lines_tell_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trials = [(number, trial) for number, (_, told) in lines_of(name).items() for trial in told]
    code = dict(sections(chapter(name)))
    last = max((max(trial.sections) for _, trial in trials), default=-1)
    space: dict[str, Any] = {"__name__": "chapter"}
    for section, cells in code.items():
        if section > last:
            break
        for number, trial in trials:
            if trial.sections[0] != section:
                continue
            concerned = [cell for each in trial.sections for cell in code[each]]
            where = f"{name}, Try it {number}, {trial.changes}"
            if trial.raises:
                with pytest.raises(Exception) as raised:
                    attempt(concerned, trial, dict(space))
                assert raised.type.__name__ == trial.raises, where
            else:
                shown = attempt(concerned, trial, dict(space))
                assert re.search(trial.shows, shown), f"{where}:\n{shown}"
        attempt(cells, Try((section,)), space)
