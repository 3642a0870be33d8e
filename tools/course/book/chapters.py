"""A chapter as a page: code that only prepares is folded, players are beside their paragraphs."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.course.book.markup import beside, code, fold, markdown, terminal
from tools.course.book.page import Page
from tools.course.book.predictions import answer_in, asked, form
from tools.course.pictures import inlined

PLAYER = "pagesim-frame"


@dataclass(frozen=True, slots=True)
class Chapter:
    """A notebook, read: its name without ending, its title ("2 · Blocks"), its first paragraph."""

    name: str
    title: str
    opening: str
    time: str
    """As its first cell says: "about 20 minutes"; empty if it does not."""
    notebook: NotebookNode


def read(path: Path) -> Chapter:
    """Read a chapter. ValueError if it has no title, or was committed without its outputs."""
    notebook = nbformat.read(path, as_version=4)
    texts = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    for cell in texts:
        cell.source = inlined(cell.source)
    words = [cell.source for cell in texts]
    heading = re.search(r"^# (.+)$", words[0] if words else "", re.MULTILINE)
    if heading is None:
        raise ValueError(f"{path.name}: the first text must begin with a title, as in '# Pages'")
    if not any(cell.get("outputs") for cell in notebook.cells):
        raise ValueError(
            f"{path.name} has no outputs: python -m tools.course.execute --write {path}"
        )
    after = [part.strip() for part in words[0][heading.end() :].split("\n\n") if part.strip()]
    time = re.search(r"^\*\*Time:\*\* (about \d+ minutes)", "\n".join(words[:3]), re.MULTILINE)
    opening = next((part for part in after if not part.startswith("![")), "")
    return Chapter(path.stem, heading[1].strip(), opening, time[1] if time else "", notebook)


@dataclass(slots=True)
class _Stretch:
    """What is beside one player: the paragraphs that lead to it, and those behind it."""

    before: list[str] = field(default_factory=list)
    player: str = ""
    after: list[str] = field(default_factory=list)

    def add(self, html: str) -> None:
        (self.after if self.player else self.before).append(html)

    def html(self) -> str:
        return beside("".join(self.before), self.player, "".join(self.after))


def body(chapter: Chapter) -> str:
    """The cells as HTML. A section begins a new stretch, and so does a second player."""
    stretches = [_Stretch()]
    cells = chapter.notebook.cells
    for number, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            if cell.source.startswith("#") or (
                stretches[-1].player and _leads(cells[number + 1 :])
            ):
                stretches.append(_Stretch())
            stretches[-1].add(f'<section id="cell-{cell.id}">{markdown(cell.source)}</section>')
            continue
        written, player = _code(cell, cells[number + 1 :])
        if player and stretches[-1].player:
            stretches.append(_Stretch())
        stretches[-1].add(f'<section id="cell-{cell.id}">{written}</section>')
        stretches[-1].player += player
    return "".join(each.html() for each in stretches if each.before or each.player)


def _leads(cells: list[NotebookNode]) -> bool:
    """Whether a player comes before the next text."""
    for cell in cells:
        if cell.cell_type == "markdown":
            return False
        if any(PLAYER in output.get("data", {}).get("text/html", "") for output in cell.outputs):
            return True
    return False


def _code(cell: NotebookNode, later: list[NotebookNode]) -> tuple[str, str]:
    """A cell with code and what came of it; apart from this, its player."""
    question = asked(cell.source) if "pagesim.predict(" in cell.source else None
    answers = (answer_in(output_html(output)) for one in later for output in one.get("outputs", ()))
    answer = next((each for each in answers if each), None) if question else None
    shown = [output for output in cell.outputs if not (question and _says_nothing(output))]
    players = [output_html(output) for output in shown if PLAYER in output_html(output)]
    rest = [output_html(output) for output in shown if PLAYER not in output_html(output)]
    written = code(cell.source)
    if question and answer:
        written = form(question, answer) + fold("The code behind this question", written)
    elif ".reveal()" in cell.source:
        return "".join(rest) + fold("The code behind this answer", written), "".join(players)
    elif players and "Question(" in cell.source:
        written = fold("The code behind this player", written)
    elif cell.metadata.get("jupyter", {}).get("source_hidden") or _prepares(cell):
        written = fold("The code that prepares this", written)
    return written + "".join(f'<div class="output">{each}</div>' for each in rest), "".join(players)


def _prepares(cell: NotebookNode) -> bool:
    """Whether it only imports, and prints nothing."""
    return not cell.outputs and cell.source.startswith(("import ", "from "))


def _says_nothing(output: NotebookNode) -> bool:
    return "No prediction yet" in output.get("data", {}).get("text/plain", "")


def output_html(output: NotebookNode) -> str:
    """What a cell has shown, as HTML."""
    if output.output_type == "stream":
        return terminal(output.text)
    if output.output_type == "error":
        return terminal("\n".join(output.traceback))
    if "text/html" in output.data:
        return str(output.data["text/html"].replace("<pre>", '<pre tabindex="0">'))
    return terminal(output.data["text/plain"])


def pages(chapters: list[Chapter]) -> list[Page]:
    """A page for each chapter, with its neighbours."""
    links = [(f"{chapter.name}.html", chapter.title) for chapter in chapters]
    around = zip([None, *links], chapters, [*links[1:], None], strict=False)
    return [
        Page(
            f"{chapter.name}.html",
            chapter.title,
            body(chapter),
            f"notebooks/{chapter.name}.ipynb",
            f"{chapter.name}.html",
            "chapter",
            before,
            after,
        )
        for before, chapter, after in around
    ]
