"""A page of the site before it has a layout, and its links in terms of this repository."""

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tools.course.book.markup import markdown

_LINK = re.compile(r'<a ([^>]*?)href="([^"#]*)(#[^"]*)?"([^>]*)>(.*?)</a>', re.DOTALL)
_PICTURE = re.compile(r'(<img [^>]*?src=")([^":]+)"')
_ELSEWHERE = re.compile(r"[a-z]+:")


@dataclass(frozen=True, slots=True)
class Page:
    """A page: where it is on the site, what it says, and the file that it says it from."""

    url: str
    title: str
    body: str
    source: str = ""
    """The file in this repository, which its relative links start from; empty for none."""
    group: str = ""
    """The entry of the navigation that it belongs to."""
    kind: str = "text"
    """`chapter` has players beside its paragraphs, and `home` has no navigation at the side."""
    before: tuple[str, str] | None = None
    after: tuple[str, str] | None = None
    """The neighbours: address and title."""
    extra: dict[str, str] = field(default_factory=dict)
    """Files that belong to it, by address: pages with players of their own."""
    policy: str = ""
    """The Content-Security-Policy of a page whose texts can be edited; empty for the others."""


def first_line(text: str) -> str:
    """A title without its Markdown: `# a *b*` is "a b"."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return re.sub(r"[`*]", "", found[1]).strip() if found else ""


def from_markdown(url: str, source: str, text: str, group: str) -> Page:
    """The page of a Markdown file."""
    return Page(url, first_line(text), markdown(text), source, group)


def relative(here: str, there: str) -> str:
    """The address of one page, seen from another."""
    return posixpath.relpath(there, posixpath.dirname(here) or ".")


def linked(page: Page, found: Callable[[str], str | None]) -> str:
    """The body with links that work on the site.

    A link to a file of this repository leads to its page, which ``found`` knows. One that has none
    becomes plain text.
    """
    folder = posixpath.dirname(page.source)

    def lead(link: re.Match[str]) -> str:
        before, target, anchor, after, inside = link.groups(default="")
        is_page = _ELSEWHERE.match(target) or target.endswith(".html")
        if not target or is_page or not page.source:
            return link[0]
        there = found(posixpath.normpath(posixpath.join(folder, target)))
        if there is None:
            return inside
        return f'<a {before}href="{relative(page.url, there)}{anchor}"{after}>{inside}</a>'

    def show(picture: re.Match[str]) -> str:
        there = found(posixpath.normpath(posixpath.join(folder, picture[2])))
        return f'{picture[1]}{relative(page.url, there)}"' if page.source and there else picture[0]

    return _PICTURE.sub(show, _LINK.sub(lead, page.body))
