"""The way through the site: parts and chapters as docs/BOOK.md has them, then everything else."""

import re
from dataclasses import dataclass

from tools.course import ROOT
from tools.course.book import documents, exercises, gallery, museum, reference
from tools.course.book.chapters import Chapter
from tools.course.book.markup import markdown
from tools.course.live import pages as live

BOOK = ROOT / "docs/BOOK.md"
_PART = re.compile(r"^\| \*\*(Part [^*]+)\*\*", re.MULTILINE)
_ROW = re.compile(r"^\| \*\*(\d\d)\*\* [^|]*\| ([^|]+)\|", re.MULTILINE)
Entry = tuple[str, str]
"""An address and its name."""


@dataclass(frozen=True, slots=True)
class Part:
    """A heading of the navigation, and what is under it."""

    name: str
    entries: list[Entry]


def parts(chapters: list[Chapter]) -> list[Part]:
    """The parts of the course, and behind them the rest of the site."""
    book = [
        Part(name, [(f"{c.name}.html", c.title) for c in some]) for name, some in by_part(chapters)
    ]
    practice = [
        (live.TRY, "Try it"),
        (exercises.INDEX, "Exercises"),
        (museum.INDEX, "Museum of surprises"),
        (documents.QUESTIONS, "Questions people ask"),
        (gallery.INDEX, "Gallery"),
    ]
    guides = [(documents.url_of(path), name) for path, name in documents.GUIDES.items()]
    look_up = [(reference.COMMANDS, "All commands"), (reference.PYTHON, "Python")]
    look_up += [(documents.url_of(path), name) for path, name in documents.LEDGERS.items()]
    return [*book, Part("Practice", practice), Part("Guides", guides), Part("Look up", look_up)]


def by_part(chapters: list[Chapter]) -> list[tuple[str, list[Chapter]]]:
    """The chapters of each part; the one before the first part is a part of its own."""
    text = BOOK.read_text("utf-8")
    starts = {found.start(): found[1] for found in _PART.finditer(text)}
    grouped: dict[str, list[Chapter]] = {"The course": []}
    known = {chapter.name[:2]: chapter for chapter in chapters}
    for row in _ROW.finditer(text):
        name = next(
            (starts[at] for at in sorted(starts, reverse=True) if at < row.start()), "The course"
        )
        if row[1] in known:
            grouped.setdefault(name, []).append(known.pop(row[1]))
    grouped["The course"] += known.values()
    return [(name, some) for name, some in grouped.items() if some]


def questions() -> dict[str, str]:
    """The question of each chapter, as HTML, by its number."""
    rows = _ROW.findall(BOOK.read_text("utf-8"))
    return {
        number: markdown(words.strip()).strip().removeprefix("<p>").removesuffix("</p>")
        for number, words in rows
    }
