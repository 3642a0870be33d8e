"""Render the executed chapters as static pages; `python -m tools.course.site` writes site/.

Nothing is run: the committed outputs are shown as they are, and their players are alive. A page
makes no network requests: TeX becomes MathML here, and the style is in the page. The notebooks of
the exercises lie beside the pages that link to them.
"""

import argparse
import re
import shutil
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import Environment, FileSystemLoader
from latex2mathml.converter import convert
from nbconvert.filters import Highlight2HTML, ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode

from tools.course import NOTEBOOKS, ROOT
from tools.course.pictures import inlined

EXERCISES = NOTEBOOKS / "exercises"
LINK = re.compile(r"(?<=\]\()([\w./-]+)\.ipynb(?=[)#\s])")
HERE = Path(__file__).parent
NARROW = 34
"""Letters of code that fit the width of a phone."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A notebook, read: its name without ending, its title ("2 · Blocks"), its first paragraph."""

    name: str
    title: str
    opening: str
    time: str
    """As its first cell says: "about 20 minutes"; empty if it does not."""
    notebook: NotebookNode


class MathRenderer(IPythonRenderer):
    """nbconvert's Markdown, with MathML instead of TeX."""

    def inline_math(self, body: str) -> str:
        return str(convert(body))

    def block_math(self, body: str) -> str:
        return str(convert(body, display="block")).replace("<math ", '<math tabindex="0" ', 1)


def markdown(source: str) -> str:
    """Markdown to HTML, with MathML for what is between dollars."""
    renderer = MathRenderer(escape=False, exclude_anchor_links=True)
    html = MarkdownWithMath(renderer=renderer).render(source)
    return str(html).replace("<pre>", '<pre tabindex="0">')  # what scrolls, by the keyboard too


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
    time = re.search(r"^\*\*Time:\*\* (about \d+ minutes)", words[0], re.MULTILINE)
    opening = next((part for part in after if not part.startswith("![")), "")
    return Chapter(path.stem, heading[1].strip(), opening, time[1] if time else "", notebook)


def render(chapter: Chapter, chapters: list[Chapter]) -> str:
    """The page of a chapter; its links to other chapters lead to their pages."""
    names = {other.name for other in chapters}

    def to_page(match: re.Match[str]) -> str:
        return f"{match[1]}.html" if match[1].removeprefix("./") in names else match[0]

    notebook = nbformat.from_dict(chapter.notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(to_page, cell.source)
    return page(
        "page.html",
        title=chapter.title,
        cells=notebook.cells,
        navigation=navigation(chapter, chapters),
    )


def page(template: str, sheet: str = "site.css", **fields: Any) -> str:
    """A page from one of the templates beside this file, with a style sheet in it."""
    environment = Environment(loader=FileSystemLoader(HERE), trim_blocks=True)
    environment.filters |= {
        "markdown": markdown,
        "code": Highlight2HTML(pygments_lexer="ipython3"),
        "terminal": ansi2html,
        "scrolls": scrolls,
    }
    style = (HERE / sheet).read_text(encoding="utf-8")
    return environment.get_template(template).render(style=style, **fields)


def scrolls(text: str) -> str:
    """The attribute of what may be wider than a phone: the keyboard can then scroll it."""
    wide = max(map(len, text.splitlines()), default=0) > NARROW
    return ' tabindex="0"' if wide else ""


def navigation(chapter: Chapter, chapters: list[Chapter]) -> str:
    """Links to the previous chapter, to all, and to the next; the page calls them what they are."""
    place = chapters.index(chapter)
    links = ['<a href="index.html">All chapters</a>']
    if place > 0:
        links.insert(0, _link(chapters[place - 1], "prev", "\N{LEFTWARDS ARROW} {}"))
    if place + 1 < len(chapters):
        links.append(_link(chapters[place + 1], "next", "{} \N{RIGHTWARDS ARROW}"))
    return " ".join(links)


def _link(chapter: Chapter, relation: str, words: str) -> str:
    caption = escape(words.format(chapter.title))
    return f'<a rel="{relation}" href="{escape(chapter.name)}.html">{caption}</a>'


def index(chapters: list[Chapter]) -> str:
    """The page with links to all others, and the first player of the course."""
    cards = [
        {
            "link": f"{chapter.name}.html",
            "title": chapter.title,
            "opening": LINK.sub(r"\1.html", chapter.opening),
            "time": chapter.time,
        }
        for chapter in chapters
    ]
    return page("index.html", cards=cards, player=first_player(chapters))


def first_player(chapters: list[Chapter]) -> str:
    """The output of the first cell that shows a player; empty if none does."""
    for chapter in chapters:
        for cell in chapter.notebook.cells:
            for output in cell.get("outputs", ()):
                shown = output.get("data", {}).get("text/html", "")
                if "pagesim-player" in shown:
                    return str(shown)
    return ""


def build(paths: list[Path], target: Path) -> list[Path]:
    """Write a page for each notebook and the index into ``target``; returns their paths."""
    chapters = [read(path) for path in paths]
    target.mkdir(parents=True, exist_ok=True)
    pages = {f"{chapter.name}.html": render(chapter, chapters) for chapter in chapters}
    pages["index.html"] = index(chapters)
    for name, text in pages.items():
        (target / name).write_text(text, encoding="utf-8", newline="\n")
    (target / EXERCISES.name).mkdir(exist_ok=True)
    for path in EXERCISES.glob("*.ipynb"):
        shutil.copy2(path, target / EXERCISES.name)
    return [target / name for name in pages]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, or 2 for a notebook that cannot be shown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "site", help="folder")
    options = parser.parse_args(arguments)
    try:
        written = build(sorted(NOTEBOOKS.glob("*.ipynb")), options.output)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for path in written:
        print(f"{path}  {path.stat().st_size / 1000:,.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
