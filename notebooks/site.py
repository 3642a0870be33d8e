"""Render the executed chapters as static pages: `python notebooks/site.py` writes site/index.html.

Nothing is run: the committed outputs are shown as they are, with the players alive, for they carry
all they need. The pages ask the network for one thing, MathJax, and only where a chapter has
formulas; without a network these stay as TeX.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

import nbformat
from jinja2 import DictLoader
from nbconvert import HTMLExporter
from nbconvert.filters import markdown2html
from nbformat import NotebookNode

HERE = Path(__file__).resolve().parent
LINK = re.compile(r"(?<=\]\()([\w./-]+)\.ipynb(?=[)#\s])")
FORMULA = re.compile(r"\$[^$]+\$")
# nbconvert's page, less what it would fetch from elsewhere; MathJax must not hold up the page.
TEMPLATE = """{% extends 'lab/index.html.j2' %}
{% block html_head_js %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
{% block html_head_js_mathjax %}
{%- if resources.formulas -%}
{{ super() | replace('<script src=', '<script async src=') }}
{%- endif -%}
{% endblock %}
{% block body_header %}{{ super() }}
<nav style="margin: 1em 2em; font-family: sans-serif"><a href="index.html">All chapters</a></nav>
{% endblock %}
"""
INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>pagesim: the course</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 17px/1.5 system-ui, sans-serif; max-width: 44em; margin: 2em auto; padding: 0 1em; }}
</style>
</head>
<body>
<h1>pagesim: the course</h1>
<p>The chapters as they were run. The players in them are alive; to run the code, open the
notebooks in JupyterLab.</p>
{chapters}
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A notebook, read: its name without ending, its title, and its first paragraph as Markdown."""

    name: str
    title: str
    opening: str
    notebook: NotebookNode


def read(path: Path) -> Chapter:
    """Read a chapter. ValueError if it has no title, or was committed without its outputs."""
    notebook = nbformat.read(path, as_version=4)
    words = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    heading = re.search(r"^# (.+)$", words[0] if words else "", re.MULTILINE)
    if heading is None:
        raise ValueError(f"{path.name}: the first text must begin with a title, as in '# Pages'")
    if not any(cell.get("outputs") for cell in notebook.cells):
        raise ValueError(f"{path.name} has no outputs: python notebooks/execute.py --write {path}")
    after = [part.strip() for part in words[0][heading.end() :].split("\n\n") if part.strip()]
    return Chapter(path.stem, heading[1].strip(), after[0] if after else "", notebook)


def render(chapter: Chapter, names: set[str]) -> str:
    """The page of a chapter; its links to the chapters in ``names`` lead to their pages."""

    def to_page(match: re.Match[str]) -> str:
        return f"{match[1]}.html" if match[1].removeprefix("./") in names else match[0]

    notebook = nbformat.from_dict(chapter.notebook)
    formulas = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(to_page, cell.source)
            formulas |= FORMULA.search(cell.source) is not None
    exporter = HTMLExporter(
        template_file="chapter.html.j2", extra_loaders=[DictLoader({"chapter.html.j2": TEMPLATE})]
    )
    exporter.embed_images = True
    resources = {
        "formulas": formulas,
        "metadata": {"name": chapter.title, "path": str(HERE)},
    }
    html: str = exporter.from_notebook_node(notebook, resources)[0]
    return html


def index(chapters: list[Chapter]) -> str:
    """The page that leads to all others."""
    entries = []
    for chapter in chapters:
        opening = LINK.sub(r"\1.html", chapter.opening)
        link = f'<h2><a href="{escape(chapter.name)}.html">{escape(chapter.title)}</a></h2>'
        entries.append(f"{link}\n{markdown2html(opening)}")
    return INDEX.format(chapters="\n".join(entries))


def build(paths: list[Path], target: Path) -> list[Path]:
    """Write a page for each notebook and the index into ``target``; returns what was written."""
    chapters = [read(path) for path in paths]
    names = {chapter.name for chapter in chapters}
    target.mkdir(parents=True, exist_ok=True)
    pages = {f"{chapter.name}.html": render(chapter, names) for chapter in chapters}
    pages["index.html"] = index(chapters)
    for name, text in pages.items():
        (target / name).write_text(text, encoding="utf-8", newline="\n")
    return [target / name for name in pages]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, or 2 for a notebook that cannot be shown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=HERE.parent / "site", help="folder")
    options = parser.parse_args(arguments)
    try:
        written = build(sorted(HERE.glob("*.ipynb")), options.output)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for path in written:
        print(f"{path}  {path.stat().st_size / 1000:,.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
