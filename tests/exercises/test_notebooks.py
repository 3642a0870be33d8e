"""The notebooks of the exercises: made from the registry, for students and for teachers."""

import random
from pathlib import Path
from typing import Any

import nbformat
import pytest

from pagesim.errors import UsageError
from pagesim.exercises import all as every
from pagesim.exercises import notebooks
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.guard import attempt
from tests.commands.runs import Shell
from tests.exercises.answers import needs
from tools.course import NOTEBOOKS

COMMITTED = NOTEBOOKS / "exercises"
each_chapter = pytest.mark.parametrize("chapter", notebooks.chapters())


def cells(text: str) -> dict[str, Any]:
    """The cells by their ids."""
    return {cell.id: cell for cell in nbformat.reads(text, as_version=4).cells}


def test_the_committed_notebooks_are_those_of_the_registry() -> None:
    wanted = {notebooks.file_name(c): notebooks.notebook(c) for c in notebooks.chapters()}
    there = {path.name: path.read_text(encoding="utf-8") for path in COMMITTED.iterdir()}
    stale = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    assert stale == [], "pagesim exercises release --force notebooks/exercises"


@pytest.mark.parametrize("solutions", [False, True], ids=["student", "teacher"])
@each_chapter
def test_a_notebook_is_valid_and_as_nbformat_writes_it(chapter: int, solutions: bool) -> None:
    text = notebooks.notebook(chapter, solutions=solutions)
    read = nbformat.reads(text, as_version=4)
    nbformat.validate(read)
    assert nbformat.writes(read).rstrip("\n") + "\n" == text
    graded = [c.metadata.nbgrader.grade_id for c in read.cells if "nbgrader" in c.metadata]
    assert len(set(graded)) == len(graded)


@each_chapter
def test_students_get_neither_solutions_nor_hidden_tests(chapter: int) -> None:
    text = notebooks.notebook(chapter)
    assert "SOLUTION" not in text and "HIDDEN" not in text and "assert_right" not in text
    for exercise in (e for e in every() if e.chapter == chapter):
        answer = cells(text)[f"answer-{exercise.number.replace('.', '-')}"].source
        assert "raise NotImplementedError()" in answer
        blanked = set(exercise.solution.splitlines()) - set(answer.splitlines())
        assert blanked and not any(line in answer.splitlines() for line in blanked)


def space(text: str, exercise: Exercise) -> dict[str, Any]:
    """The names that there are when the notebook was run as far as the exercise's answer."""
    place, names = exercise.number.replace(".", "-"), {"__name__": "__main__"}
    for cell in ("imports", f"answer-{place}"):
        code = compile(cells(text)[cell].source, cell, "exec", dont_inherit=True)
        exec(code, names)  # as a notebook does: annotations, too
    return names


@pytest.mark.parametrize("exercise", every(), ids=lambda e: e.number)
def test_a_stub_runs_alone_and_says_that_it_is_not_written(exercise: Exercise) -> None:
    """No name of the module that the reference is in: the cell is all that a student has."""
    needs(exercise)
    first = next(iter(exercise.cases(random.Random(0), False)))
    for solutions in (False, True):
        text = notebooks.notebook(exercise.chapter, solutions=solutions)
        function = space(text, exercise)[exercise.name]
        verdict = exercise.judge(first, attempt(function, first, exercise.call, exercise.seconds))
        if solutions:
            assert verdict is None, str(verdict)
        else:
            assert verdict is not None and verdict.yours == "The function is not written yet."


@each_chapter
def test_points_are_those_of_the_stars(chapter: int) -> None:
    student, teacher = (cells(notebooks.notebook(chapter, solutions=s)) for s in (False, True))
    for exercise in (e for e in every() if e.chapter == chapter):
        check = student[f"check-{exercise.number.replace('.', '-')}"]
        assert check.source == f'check("{exercise.number}", {exercise.name})'
        assert check.metadata.nbgrader.points == {1: 1, 2: 2, 3: 4}[exercise.stars]
        assert check.metadata.nbgrader.grade and check.metadata.nbgrader.locked
        hidden = teacher[check.id].source.partition("### BEGIN HIDDEN TESTS\n")[2].splitlines()
        assert hidden[0] == f'get("{exercise.number}").assert_right({exercise.name})'


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys, "exercises")


def test_release_and_solutions(tmp_path: Path, shell: Shell) -> None:
    out = tmp_path / "new" / "er" / "ex02.ipynb"
    assert shell("release", out.parent, "--chapter", "2") == f"{out}\n"
    assert out.read_text(encoding="utf-8") == notebooks.notebook(2)
    shell("solutions", tmp_path / "solved")
    names = [path.name for path in sorted((tmp_path / "solved").iterdir())]
    assert names == [notebooks.file_name(c) for c in notebooks.chapters()]
    assert "### BEGIN SOLUTION" in (tmp_path / "solved" / "ex02.ipynb").read_text(encoding="utf-8")


def test_work_that_is_there_is_not_overwritten(tmp_path: Path, shell: Shell) -> None:
    for _ in range(2):  # the same text is no loss
        shell("release", tmp_path)
    first, *_, last = (tmp_path / notebooks.file_name(c) for c in notebooks.chapters())
    last.write_text("an hour's work")
    first.unlink()
    assert f"{last} already exists" in shell.refusal("release", tmp_path)
    assert last.read_text() == "an hour's work" and not first.exists()
    shell("release", tmp_path, "--force")
    assert first.exists() and last.read_text() != "an hour's work"


def test_what_cannot_be_written_is_named(tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "file").write_text("")
    assert "is not a folder" in shell.refusal("release", tmp_path / "file")
    assert str(tmp_path / "file") in shell.refusal("release", tmp_path / "file" / "under")
    error = shell.refusal("solutions", tmp_path / "x", "--chapter", "77")
    assert "--chapter: chapter 77 has no exercises" in error
    assert not (tmp_path / "x").exists()
    with pytest.raises(UsageError, match="is not a folder"):
        notebooks.write(tmp_path / "file", [2])


def test_list(shell: Shell) -> None:
    *lines, last = shell("list").splitlines()
    assert [line.split()[0] for line in lines] == [e.number for e in every()]
    assert last == f"{len(every())} exercises, {sum(e.points for e in every())} points"
    said = shell.answer("list")["exercises"]
    assert [e["number"] for e in said] == [e.number for e in every()]
    assert said[0]["vllm"] and said[0]["points"] == every()[0].points
