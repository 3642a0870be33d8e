"""The committed chapters, one pytest parameter each, with the marker of what it relies on."""

from __future__ import annotations

import nbformat
import pytest
from nbformat import NotebookNode

from tools.course import NOTEBOOKS

CHAPTERS = [
    pytest.param(path.name, marks=getattr(pytest.mark, f"ch{path.name[:2]}"))
    for path in sorted(NOTEBOOKS.glob("*.ipynb"))
]
every_chapter = pytest.mark.parametrize("name", CHAPTERS)


def chapter(name: str) -> NotebookNode:
    """A chapter by its file's name, or by its number."""
    (path,) = NOTEBOOKS.glob(name if name.endswith(".ipynb") else f"{name}_*.ipynb")
    return nbformat.read(path, as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell: NotebookNode) -> str:
    """What a cell printed, and the words of the pictures that it showed."""
    texts = [output.get("text", "") for output in cell.outputs]
    texts += [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "".join(texts)
