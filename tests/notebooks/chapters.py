"""The committed chapters, one pytest parameter each, with the marker of what it relies on."""

import functools
import html
import re

import nbformat
import pytest
from nbformat import NotebookNode

from tools.course import NOTEBOOKS

CHAPTERS = [
    pytest.param(path.name, marks=getattr(pytest.mark, f"ch{path.name[:2]}"))
    for path in sorted(NOTEBOOKS.glob("*.ipynb"))
]
every_chapter = pytest.mark.parametrize("name", CHAPTERS)


@functools.cache
def chapter(name: str) -> NotebookNode:
    """A chapter by its file's name, or by its number; not to be changed, as all share it."""
    (path,) = NOTEBOOKS.glob(name if name.endswith(".ipynb") else f"{name}_*.ipynb")
    return nbformat.read(path, as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def markdown(notebook: NotebookNode) -> list[str]:
    """The texts between the code."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def source(number: str, cell_id: str) -> str:
    """What stands in one cell of a chapter."""
    (found,) = (cell.source for cell in chapter(number).cells if cell.id == cell_id)
    return found


def printed(cell: NotebookNode) -> str:
    """What a cell printed, the words of its pictures, and what an answer of it folds."""
    texts = [output.get("text", "") for output in cell.outputs]
    data = [output.get("data", {}) for output in cell.outputs]
    texts += [each.get("text/plain", "") for each in data]
    folded = [each.get("text/html", "") for each in data]
    texts += [_text(page) for page in folded if page.startswith('<details class="answer">')]
    return "".join(texts)


def _text(page: str) -> str:
    """The text of a page, with the words of its pictures."""
    words = re.sub(r'<img[^>]* alt="([^"]*)"[^>]*>', r"\1\n", page)
    return html.unescape(re.sub(r"<[^>]+>", "", words))
