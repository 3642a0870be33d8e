"""The exercises on the site: to be read; the notebook beside each page is for working."""

import nbformat

from tools.course import NOTEBOOKS
from tools.course.book.markup import code, fold, markdown
from tools.course.book.page import Page, first_line

FOLDER = NOTEBOOKS / "exercises"
INDEX = "exercises/index.html"


def pages() -> list[Page]:
    """The list, and a page for each notebook, with its neighbours."""
    notebooks = sorted(FOLDER.glob("*.ipynb"))
    read = {path.stem: nbformat.read(path, as_version=4) for path in notebooks}
    titles = {name: first_line(notebook.cells[0].source) for name, notebook in read.items()}
    links = [(f"exercises/{name}.html", title) for name, title in titles.items()]
    around = zip([None, *links], read.items(), [*links[1:], None], strict=False)
    made = [
        Page(
            f"exercises/{name}.html",
            titles[name],
            _body(name, notebook),
            f"notebooks/exercises/{name}.ipynb",
            INDEX,
            "text",
            before,
            after,
        )
        for before, (name, notebook), after in around
    ]
    items = "".join(
        f'<li><a href="{name}.html">{title}</a>: {_count(read[name])}</li>'
        for name, title in titles.items()
    )
    words = (
        "<h1>Exercises</h1><p>Each chapter has exercises that check themselves. Read them here; to "
        "solve them, open the notebook with <code>make lab</code>. If a solution is wrong, "
        "<code>check</code> shows the smallest case on which it fails.</p>"
    )
    return [Page(INDEX, "Exercises", f"{words}<ol start='0'>{items}</ol>", "", INDEX), *made]


def _count(notebook: nbformat.NotebookNode) -> str:
    number = sum(str(cell.get("id", "")).startswith("statement") for cell in notebook.cells)
    return f"{number} exercise{'s' * (number != 1)}"


def _body(name: str, notebook: nbformat.NotebookNode) -> str:
    parts = [f'<p class="where">To be read. <a href="{name}.ipynb">The notebook</a> checks it.</p>']
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(markdown(cell.source))
        elif cell.id.startswith("answer"):
            parts.append(code(cell.source))
        elif cell.id == "imports":
            parts.append(fold("The code that prepares this", code(cell.source)))
    first, *rest = parts[1:]
    return f'<div class="plain">{first}{parts[0]}{"".join(rest)}</div>'
