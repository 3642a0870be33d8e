"""The exercises on the site: those that need no NumPy are checked there, the others are read."""

import nbformat

from tools.course import NOTEBOOKS
from tools.course.book.markup import code, fold, markdown
from tools.course.book.page import Page, first_line
from tools.course.live import files
from tools.course.live import pages as live

FOLDER = NOTEBOOKS / "exercises"
INDEX = "exercises/index.html"
HOW = (
    "Most of them you can solve here. For those that need NumPy or a kernel, open the notebook "
    "with <code>make lab</code>."
    if files.are_here()
    else "Read them here; to solve them, open the notebook with <code>make lab</code>."
)


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
            policy=live.allowed(),
        )
        for before, (name, notebook), after in around
    ]
    items = "".join(
        f'<li><a href="{name}.html">{title}</a>: {_count(read[name])}</li>'
        for name, title in titles.items()
    )
    words = (
        f"<h1>Exercises</h1><p>Each chapter has exercises that check themselves. {HOW} If a "
        "solution is wrong, you see the smallest case on which it fails.</p>"
    )
    return [Page(INDEX, "Exercises", f"{words}<ol start='0'>{items}</ol>", "", INDEX), *made]


def _count(notebook: nbformat.NotebookNode) -> str:
    number = sum(str(cell.get("id", "")).startswith("statement") for cell in notebook.cells)
    return f"{number} exercise{'s' * (number != 1)}"


def _body(name: str, notebook: nbformat.NotebookNode) -> str:
    link = f'<a href="{name}.ipynb">the notebook</a>'
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(markdown(cell.source))
        elif cell.id.startswith("answer"):
            number = cell.id.removeprefix("answer-").replace("-", ".")
            if files.are_here() and number in files.checked():
                parts.append(live.exercise(number, cell.source))
            else:
                parts.append(code(cell.source))
                parts.append(f'<p class="where">To be read here: {link} checks it.</p>')
        elif cell.id == "imports":
            parts.append(fold("The code that prepares this", code(cell.source)))
    first, *rest = parts
    alive = live.KEYS if "data-live" in "".join(parts) else ""
    return f'<div class="plain">{first}{alive}{"".join(rest)}</div>'
