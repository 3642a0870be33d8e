"""Text to HTML: Markdown with MathML, code with colours, and the templates of this folder."""

import re
from html import escape, unescape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from latex2mathml.converter import convert
from nbconvert.filters import Highlight2HTML, ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

HERE = Path(__file__).parent
NARROW = 34
"""Letters of code that fit the width of a phone."""
_HEADING = re.compile(r"<h([23])>(.*?)</h\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


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
    # What may be wider than a phone scrolls in a box of its own, by the keyboard too.
    html = str(html).replace("<pre>", '<pre tabindex="0">')
    html = html.replace("<table>", '<div class="wide" tabindex="0"><table>')
    html = html.replace("<th></th>", "<td></td>")  # above a column of names: no header
    return html.replace("</table>", "</table></div>")


def scrolls(text: str) -> str:
    """The attribute of what may be wider than a phone: the keyboard can then scroll it."""
    wide = max(map(len, text.splitlines()), default=0) > NARROW
    return ' tabindex="0"' if wide else ""


_colours = Highlight2HTML(pygments_lexer="ipython3")


def code(source: str) -> str:
    """Python with colours, which the keyboard can scroll."""
    html = str(_colours(source))
    return f'<div class="code">{html.replace("<pre>", f"<pre{scrolls(source)}>")}</div>'


def terminal(text: str) -> str:
    """What a program has printed."""
    return f"<pre{scrolls(text)}>{ansi2html(text)}</pre>"


def fold(summary: str, inside: str) -> str:
    """What a reader may open."""
    return f'<details class="fold"><summary>{escape(summary)}</summary>{inside}</details>'


def beside(before: str, player: str, after: str) -> str:
    """A player and its paragraphs: one column on a phone, two where there is room."""
    if not player:
        return f'<div class="plain">{before}{after}</div>'
    stage = f'<div class="stage"><div>{player}</div></div>'
    return f'<div class="beside"><div>{before}</div>{stage}<div>{after}</div></div>'


def words(html: str) -> str:
    """The text of some HTML, on one line."""
    return " ".join(unescape(_TAG.sub(" ", html)).split())


def slug(text: str) -> str:
    """The address of a heading within its page, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


def outlined(html: str) -> tuple[str, list[tuple[str, str]]]:
    """The same HTML with an address for each heading; the addresses and texts of its sections."""
    taken: set[str] = set()
    sections: list[tuple[str, str]] = []

    def named(found: re.Match[str]) -> str:
        text = words(found[2])
        anchor, number = slug(text), 1
        while anchor in taken:
            anchor, number = f"{slug(text)}-{number}", number + 1
        taken.add(anchor)
        if found[1] == "2":
            sections.append((anchor, text))
        return f'<h{found[1]} id="{anchor}">{found[2]}</h{found[1]}>'

    return _HEADING.sub(named, html), sections


def page(template: str, sheet: str = "", **fields: Any) -> str:
    """A page from a template of this folder or the one above, with a style sheet in it."""
    environment = Environment(loader=FileSystemLoader([HERE, HERE.parent]), trim_blocks=True)
    environment.filters |= {
        "markdown": markdown,
        "code": Highlight2HTML(pygments_lexer="ipython3"),
        "terminal": ansi2html,
    }
    style = (HERE.parent / sheet).read_text(encoding="utf-8") if sheet else ""
    return environment.get_template(template).render(style=style, **fields)
