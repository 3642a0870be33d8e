"""What the search looks through: a script with the words of every section."""

import json
import re

from tools.course.book.markup import words
from tools.course.book.page import Page

FILE = "assets/search.js"
LONGEST = 1_200
"""Letters of a section that are searched: its first paragraphs."""
_CUT = re.compile(
    r"<(pre|style|svg|math|template|script)[ >].*?</\1>|<iframe[^>]*>|<img[^>]*>", re.DOTALL
)
_SECTION = re.compile(r'<h[12](?: id="([^"]*)")?>(.*?)</h[12]>', re.DOTALL)


def index(pages: list[tuple[Page, str]]) -> str:
    """The script, from pages and their bodies with the addresses of sections."""
    rows = []
    for page, body in pages:
        _, *parts = _SECTION.split(_CUT.sub(" ", body))
        for anchor, heading, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            address = f"{page.url}#{anchor}" if anchor else page.url
            rows.append([address, page.title, words(heading), words(text)[:LONGEST]])
    return f"window.pagesimSearch={json.dumps(rows, ensure_ascii=False)};"
