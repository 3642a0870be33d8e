"""Where there is no triton (macOS, Windows) every chapter still runs from top to bottom.

The chapters themselves are run by `make notebooks`, which runs them with triton, too.
"""

import asyncio
from pathlib import Path

import pytest

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
    return [
        line
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
        for line in output.text.splitlines()
    ]


def test_triton_is_really_hidden(no_triton: None, make_notebook) -> None:
    path = make_notebook(
        "import importlib.util, sys\nassert importlib.util.find_spec('triton') is None\n"
        "import numpy\ntry:\n    import triton\nexcept ModuleNotFoundError as error:\n"
        "    print(error, file=sys.stderr)"
    )
    assert stderr_lines(path) == ["No module named 'triton'"]


@pytest.mark.course
@pytest.mark.parametrize(
    ("name", "kernels"),
    [
        pytest.param("00_start_here.ipynb", False, marks=pytest.mark.ch00),
        pytest.param("01_why_pages.ipynb", True, marks=pytest.mark.ch01),
        pytest.param("02_blocks_tables_slots.ipynb", True, marks=pytest.mark.ch02),
        pytest.param("03_reading_through_a_table.ipynb", False, marks=pytest.mark.ch03),
        pytest.param("04_growing_and_sharing.ipynb", True, marks=pytest.mark.ch04),
        pytest.param("05_swapping.ipynb", True, marks=pytest.mark.ch05),
        pytest.param("06_prefix_caching.ipynb", True, marks=pytest.mark.ch06),
        pytest.param("07_the_scheduler.ipynb", True, marks=pytest.mark.ch07),
        pytest.param("08_how_big_is_the_cache.ipynb", True, marks=pytest.mark.ch08),
        pytest.param("09_the_free_queue.ipynb", True, marks=pytest.mark.ch09),
        pytest.param("10_a_step_ahead.ipynb", True, marks=pytest.mark.ch10),
        pytest.param("13_the_whole_kernel.ipynb", True, marks=pytest.mark.ch13),
        pytest.param("14_inside_the_cuda_kernel.ipynb", True, marks=pytest.mark.ch14),
        pytest.param("15_long_sequences.ipynb", True, marks=pytest.mark.ch15),
        pytest.param("16_text.ipynb", True, marks=pytest.mark.ch16),
    ],
)
def test_a_chapter_runs_without_triton(no_triton: None, name: str, kernels: bool) -> None:
    path = NOTEBOOKS / name
    assert path.is_file(), f"notebooks/{name} is missing"
    lines = [line for line in stderr_lines(path) if line.startswith(SAYS_SO)]
    assert len(lines) == 1 if kernels else len(lines) <= 1
