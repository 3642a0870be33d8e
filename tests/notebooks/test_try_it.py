"""The Try-it lines run as they are written: what they tell is done in the chapter, and executed."""

import ast
import io
import linecache
import re
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

from pagesim.lesson.agreement import agrees
from tests.notebooks.chapters import CHAPTERS, chapter, markdown
from tools.course import ROOT

ASKED = re.compile(r"(\w+) = pagesim\.predict\(")
Code = dict[int, list[NotebookNode]]
"""The code cells of a chapter by section."""


@dataclass(frozen=True, slots=True)
class Try:
    """A change to make in one section (or several, one after the other) of a chapter.

    ``changes``: cell id → pairs of a text that stands there once and what is put in its place.
    ``then`` is run after the section. ``shows`` is a regular expression that must be found in what
    was printed. ``raises`` names the exception that the line is about.

    It is tried where the chapter has been run up to its first section, and again in the kernel of a
    whole chapter, where only the changed cell and those below it in ``sections`` are run. The last
    trial of a line is also left in its place while the whole chapter is run: then no prediction of
    another section may get another truth, but those in ``answers``, which follow from the change.
    """

    sections: list[int]
    changes: dict[str, list[list[str]]] = field(default_factory=dict)
    then: str = ""
    shows: str = ""
    raises: str = ""
    answers: list[str] = field(default_factory=list)


def lines_of(name: str) -> dict[int, tuple[str, list[Try]]]:
    """A chapter's lines by number: words of the line, and what it tells its reader to do.

    What a line asks to write is written in its file as well; a question to think about tells
    nothing. Number 0 is a line in the middle of its chapter. Chapter 0 has none.
    """
    file = ROOT / "tests" / "data" / "try_it" / f"{name[:2]}.toml"
    if name.startswith("00"):
        return {}
    lines = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        int(number): (line["words"], [Try(**each) for each in line.get("tries", [])])
        for number, line in lines.items()
    }


def try_it_lines(notebook: NotebookNode) -> dict[int, str]:
    """The lines of a chapter by their number; 0 is one in the middle."""
    lines: dict[int, str] = {}
    for source in markdown(notebook):
        text, _, listed = source.partition("### Try it\n")
        for line in re.findall(r"\*Try it:\*([^\n]+(?:\n[^\n]+)*)", text):
            assert 0 not in lines, "one such line a chapter can be named"
            lines[0] = line
        for number, line in re.findall(r"^(\d)\. (.+(?:\n   .+)*)", listed, re.MULTILINE):
            lines[int(number)] = line
    return {number: " ".join(line.split()) for number, line in lines.items()}


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_try_it_line_is_in_the_table(name: str) -> None:
    lines = try_it_lines(chapter(name))
    sentences = {number: sentence for number, (sentence, _) in lines_of(name).items()}
    assert lines.keys() == sentences.keys()
    for number, sentence in sentences.items():
        where = f"{name}, Try it {number}"
        assert sentence in lines[number], f"{where}: the table says what it does not"


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_line_names_a_cell_by_its_id(name: str) -> None:
    """JupyterLab shows no ids."""
    notebook = chapter(name)
    ids = {cell.id for cell in notebook.cells if "-" in cell.id}
    prose = "\n".join(markdown(notebook))
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


def changed(source: str, replacements: list[list[str]]) -> str:
    for old, new in replacements:
        assert source.count(old) == 1, f"{old!r} is there {source.count(old)} times"
        source = source.replace(old, new)
    return source


def play(
    cells: list[NotebookNode], space: dict[str, Any], trial: Try | None = None, then: str = ""
) -> str:
    """Run these cells, with the changes of a trial, and then more; returns what was printed."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        for cell in cells:
            changes = trial.changes.get(cell.id, []) if trial else []
            run(changed(cell.source, changes), cell.id, space)
        run(then, "then", space)
    return printed.getvalue()


def attempt(cells: list[NotebookNode], trial: Try, space: dict[str, Any], where: str) -> None:
    """Run these cells as the trial tells, and look at what it promises."""
    if trial.raises:
        with pytest.raises(Exception) as raised:
            play(cells, space, trial, trial.then)
        assert raised.type.__name__ == trial.raises, where
    else:
        shown = play(cells, space, trial, trial.then)
        assert re.search(trial.shows, shown), f"{where}:\n{shown}"


def answers(code: Code, space: dict[str, Any], trial: Try | None = None) -> dict[str, Any]:
    """Run the whole chapter: the truth of each prediction when it is asked, with its section."""
    truths = {}
    for section, cells in code.items():
        for cell in cells:
            play([cell], space, trial)
            for name in ASKED.findall(cell.source):
                truths[space[name].name] = section, space[name].truth()
    return truths


def chapter_and_trials(name: str) -> tuple[Code, list[tuple[str, list[Try]]]]:
    """The code of a chapter by section, and the trials of each line under its name."""
    code = dict(sections(chapter(name)))
    trials = [(f"{name}, Try it {number}", those) for number, (_, those) in lines_of(name).items()]
    for where, those in trials:
        for trial in those:
            ids = {cell.id for cell in concerned(code, trial)}
            assert trial.changes.keys() <= ids, f"{where}: not in section {trial.sections}"
    return code, trials


def concerned(code: Code, trial: Try) -> list[NotebookNode]:
    return [cell for section in trial.sections for cell in code[section]]


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of a fresh kernel."""
    monkeypatch.chdir(tmp_path)
    return {"__name__": "chapter"}


@pytest.mark.course
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # 0 / 0, where a line asks for it
@pytest.mark.parametrize("name", CHAPTERS)
def test_what_the_lines_tell_runs(name: str, space: dict[str, Any]) -> None:
    """When the chapter has been run up to there."""
    code, trials = chapter_and_trials(name)
    for section, cells in code.items():
        for where, those in trials:
            for trial in those:
                if trial.sections[0] == section:
                    attempt(concerned(code, trial), trial, dict(space), f"{where}, {trial.changes}")
        play(cells, space)


@pytest.mark.course
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CHAPTERS)
def test_what_the_lines_tell_runs_after_the_whole_chapter(name: str, space: dict[str, Any]) -> None:
    """In the same kernel: the changed cell, and those below it; then all again with the change."""
    code, trials = chapter_and_trials(name)
    right = answers(code, space)
    for where, those in trials:
        for trial in those:
            cells = concerned(code, trial)
            places = [place for place, cell in enumerate(cells) if cell.id in trial.changes]
            below = cells[min(places, default=len(cells)) :]
            attempt(below, trial, space, f"{where}, after the chapter, {trial.changes}")
            if trial.changes:  # they are taken back
                play(cells, space)
        if those and those[-1].changes and not those[-1].raises:
            found = answers(code, {"__name__": "chapter"}, those[-1])
            for asked, (section, truth) in found.items():
                if section not in those[-1].sections and asked not in those[-1].answers:
                    sentence = (
                        f"{where}: the answer to {asked!r} was {right[asked][1]}, and is {truth}"
                    )
                    assert agrees(truth, right[asked][1], 1e-6), sentence
