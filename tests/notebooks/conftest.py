"""Tiny notebooks to run, and the committed chapters to look at."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

MakeNotebook = Callable[..., Path]


@pytest.fixture
def make_notebook(tmp_path: Path) -> MakeNotebook:
    """Write a notebook of these code cells; a cell is its source, or (source, tag)."""

    def make(*cells: str | tuple[str, str], name: str = "tiny.ipynb") -> Path:
        made = []
        for place, cell in enumerate(cells):
            source, *tags = (cell,) if isinstance(cell, str) else cell
            metadata = {"tags": tags} if tags else {}
            made.append(new_code_cell(source, id=f"cell-{place}", metadata=metadata))
        path = tmp_path / name
        nbformat.write(new_notebook(cells=made), path)
        return path

    return make
