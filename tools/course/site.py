"""Render the executed chapters as static pages; `python -m tools.course.site` writes site/.

Nothing is run: the committed outputs are shown as they are, and the players in them are alive. A
page asks the network for nothing: TeX becomes MathML here, and the style is in the page. The output
of a cell tagged ``predict`` is folded, as it is in JupyterLab.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

import nbformat
from jinja2 import Environment
from latex2mathml.converter import convert
from nbconvert.filters import Highlight2HTML, ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode

from tools.course import NOTEBOOKS, ROOT

LINK = re.compile(r"(?<=\]\()([\w./-]+)\.ipynb(?=[)#\s])")
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title | e }}</title>
<style>{{ style }}</style>
</head>
<body>
{{ navigation }}
<main>
{% for cell in cells %}
<section id="{{ cell.id }}">
{% if cell.cell_type == 'markdown' %}
{{ cell.source | markdown }}
{% else %}
<div class="code">{{ cell.source | code }}</div>
{% set folded = 'predict' in cell.metadata.tags %}
{% if folded %}<details class="answer"><summary>The answer</summary>{% endif %}
{% for output in cell.outputs %}
<div class="output">
{% if output.output_type == 'stream' %}<pre>{{ output.text | terminal }}</pre>
{% elif output.output_type == 'error' %}<pre>{{ output.traceback | join('\n') | terminal }}</pre>
{% elif 'text/html' in output.data %}{{ output.data['text/html'] }}
{% else %}<pre>{{ output.data['text/plain'] | e }}</pre>{% endif %}
</div>
{% endfor %}
{% if folded %}</details>{% endif %}
{% endif %}
</section>
{% endfor %}
</main>
{{ navigation }}
</body>
</html>
"""
INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>pagesim: the course</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>pagesim: the course</h1>
<p>The chapters as they were run. The players in them are alive; to run the code, open the
notebooks in JupyterLab.</p>
{chapters}
</main>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A notebook, read: its name without ending, its title ("2 · Blocks"), its first paragraph."""

    name: str
    title: str
    opening: str
    notebook: NotebookNode


class MathRenderer(IPythonRenderer):
    """nbconvert's Markdown, with MathML in the place of TeX."""

    def inline_math(self, body: str) -> str:
        return str(convert(body))

    def block_math(self, body: str) -> str:
        return str(convert(body, display="block"))


def markdown(source: str) -> str:
    """Markdown to HTML, with MathML for what stands between dollars."""
    renderer = MathRenderer(escape=False, exclude_anchor_links=True)
    return MarkdownWithMath(renderer=renderer).render(source)


def read(path: Path) -> Chapter:
    """Read a chapter. ValueError if it has no title, or was committed without its outputs."""
    notebook = nbformat.read(path, as_version=4)
    words = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    heading = re.search(r"^# (.+)$", words[0] if words else "", re.MULTILINE)
    if heading is None:
        raise ValueError(f"{path.name}: the first text must begin with a title, as in '# Pages'")
    if not any(cell.get("outputs") for cell in notebook.cells):
        raise ValueError(
            f"{path.name} has no outputs: python -m tools.course.execute --write {path}"
        )
    after = [part.strip() for part in words[0][heading.end() :].split("\n\n") if part.strip()]
    return Chapter(path.stem, heading[1].strip(), after[0] if after else "", notebook)


def render(chapter: Chapter, chapters: list[Chapter]) -> str:
    """The page of a chapter; its links to other chapters lead to their pages."""
    names = {other.name for other in chapters}

    def to_page(match: re.Match[str]) -> str:
        return f"{match[1]}.html" if match[1].removeprefix("./") in names else match[0]

    notebook = nbformat.from_dict(chapter.notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(to_page, cell.source)
    environment = Environment(trim_blocks=True)
    environment.filters |= {
        "markdown": markdown,
        "code": Highlight2HTML(pygments_lexer="ipython3"),
        "terminal": ansi2html,
    }
    return environment.from_string(PAGE).render(
        title=chapter.title,
        cells=notebook.cells,
        navigation=navigation(chapter, chapters),
        style=style(),
    )


def navigation(chapter: Chapter, chapters: list[Chapter]) -> str:
    """Links to the chapter before, to all, and to the next."""
    place = chapters.index(chapter)
    links = ['<a href="index.html">All chapters</a>']
    if place > 0:
        links.insert(0, _link(chapters[place - 1], "prev", "\N{LEFTWARDS ARROW} {}"))
    if place + 1 < len(chapters):
        links.append(_link(chapters[place + 1], "next", "{} \N{RIGHTWARDS ARROW}"))
    return f"<nav>{' '.join(links)}</nav>"


def _link(chapter: Chapter, relation: str, words: str) -> str:
    said = escape(words.format(chapter.title))
    return f'<a rel="{relation}" href="{escape(chapter.name)}.html">{said}</a>'


def style() -> str:
    """The style sheet of every page."""
    return Path(__file__).with_name("site.css").read_text(encoding="utf-8")


def index(chapters: list[Chapter]) -> str:
    """The page that leads to all others."""
    entries = []
    for chapter in chapters:
        opening = LINK.sub(r"\1.html", chapter.opening)
        link = f'<h2><a href="{escape(chapter.name)}.html">{escape(chapter.title)}</a></h2>'
        entries.append(f"{link}\n{markdown(opening)}")
    return INDEX.format(chapters="\n".join(entries), style=style())


def build(paths: list[Path], target: Path) -> list[Path]:
    """Write a page for each notebook and the index into ``target``; returns what was written."""
    chapters = [read(path) for path in paths]
    target.mkdir(parents=True, exist_ok=True)
    pages = {f"{chapter.name}.html": render(chapter, chapters) for chapter in chapters}
    pages["index.html"] = index(chapters)
    for name, text in pages.items():
        (target / name).write_text(text, encoding="utf-8", newline="\n")
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
