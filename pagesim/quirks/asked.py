"""The pages of docs/questions about a quirk: what people asked who met it.

`tools/questions.py` writes the table from the pages.
"""

import functools
import json
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).with_name("questions.json")


class Question(NamedTuple):
    """A page: what people see who need it, and which quirks and chapters it is about."""

    page: str
    title: str
    symptoms: list[str]
    quirks: list[str]
    chapters: list[str]


@functools.cache
def questions() -> tuple[Question, ...]:
    """All pages, in the order of their index."""
    return tuple(Question(**row) for row in json.loads(_TABLE.read_text("utf-8")))


def asked(quirk_id: str) -> list[Question]:
    """The pages about a quirk, those that name it first in front; an unknown id has none."""
    found = [question for question in questions() if quirk_id in question.quirks]
    return sorted(found, key=lambda question: question.quirks.index(quirk_id))
