"""The notebooks of the exercises in a kernel of their own: solved, every check is right."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pagesim.exercises import all as every
from pagesim.exercises import notebooks
from tools.course.run import run

pytestmark = pytest.mark.course


@pytest.mark.parametrize("chapter", notebooks.chapters())
def test_the_solutions_pass_in_a_notebook(
    chapter: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAGESIM_PROGRESS", raising=False)
    # The parent's own tests may have chosen the interpreter; a student's notebook has not.
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    (path,) = notebooks.write(tmp_path, [chapter], solutions=True)
    ran = asyncio.run(run(path))  # an answer that is not right raises in its hidden test
    (output,) = ran.cells[-1].outputs
    done = [line.split()[1] for line in output.data["text/plain"].splitlines() if line[0] == "✓"]
    assert done == [exercise.number for exercise in every() if exercise.chapter == chapter]
