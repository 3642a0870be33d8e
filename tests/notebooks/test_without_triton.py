"""Where there is no triton (macOS, Windows) every chapter still runs from top to bottom.

The chapters themselves are run by `make notebooks`, which runs them with triton, too.
"""

import asyncio
from pathlib import Path

import pytest

from tests.notebooks.chapters import every_chapter
from tools.course import NOTEBOOKS
from tools.course.run import run

SAYS_SO = "kernels: the NumPy reference answers"

# Python's path finder, taught not to find triton: `import` and `find_spec` answer as if there were
# no such package. Python runs a sitecustomize before anything else.
HIDE_TRITON = """
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec


def find_all_but_triton(name, path=None, target=None):
    return None if name.partition(".")[0] == "triton" else find_spec(name, path, target)


PathFinder.find_spec = staticmethod(find_all_but_triton)
"""


@pytest.fixture
def no_triton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Child processes started from here have no triton."""
    folder = tmp_path / "hide"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDE_TRITON)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    # The parent's own tests may have chosen the interpreter; a reader without triton has not.
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)


def stderr_lines(path: Path) -> list[str]:
    """Run a notebook; everything it printed to stderr, line by line."""
    notebook = asyncio.run(run(path))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    errors = [output.text for output in outputs if output.get("name") == "stderr"]
    return [line for text in errors for line in text.splitlines()]


def test_triton_is_really_hidden(no_triton: None, make_notebook) -> None:
    path = make_notebook(
        "import importlib.util, sys\nassert importlib.util.find_spec('triton') is None\n"
        "import numpy\ntry:\n    import triton\nexcept ModuleNotFoundError as error:\n"
        "    print(error, file=sys.stderr)"
    )
    assert stderr_lines(path) == ["No module named 'triton'"]


WITHOUT_KERNELS = ("00", "03")
"""Chapters that need not say which kernels answer."""


@pytest.mark.course
@every_chapter
def test_a_chapter_runs_without_triton(no_triton: None, name: str) -> None:
    lines = [line for line in stderr_lines(NOTEBOOKS / name) if line.startswith(SAYS_SO)]
    assert len(lines) <= 1 if name.startswith(WITHOUT_KERNELS) else len(lines) == 1
