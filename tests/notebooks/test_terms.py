"""The term base: a term is bold where it is defined, and one thing has one name."""

import re

import pytest

from tests.notebooks.chapters import chapter, markdown
from tools.course import NOTEBOOKS, ROOT

TEXT = (ROOT / "docs/TERMS.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([\w() -]+?) \| (.+?) \| (\d\d) \| (.*?) ?\|$", TEXT, re.MULTILINE)
ORDER = sorted(path.name[:2] for path in NOTEBOOKS.glob("[0-9]*.ipynb"))
NEVER = ("iteration", "chip")
"""What no chapter calls a step or a GPU."""


def prose(number: str) -> str:
    left_out = r"^\[.*\]: data:.*$|!\[[^\]]*\]|`[^`]*`"
    text = re.sub(left_out, "", "\n".join(markdown(chapter(number))), flags=re.MULTILINE)
    return " ".join(text.split()).casefold()


def bold(term: str) -> str:
    """The term in bold type, alone or in a longer phrase, in the singular or the plural."""
    words = r"\s".join(map(re.escape, re.sub(r" \(.*\)", "", term).split()))
    return rf"\*\*[^*]*\b{words}(?:s|es|ed)?\b[^*]*\*\*"


def test_the_table_is_read() -> None:
    assert len(ROWS) > 80 and len({term for term, *_ in ROWS}) == len(ROWS)
    assert {number for *_, number, _ in ROWS} <= {*ORDER}


@pytest.mark.parametrize(("term", "number"), [(row[0], row[2]) for row in ROWS])
def test_a_term_is_bold_in_the_chapter_that_defines_it(term: str, number: str) -> None:
    assert re.search(bold(term.casefold()), prose(number)), f"{term} is not bold in {number}"


@pytest.mark.parametrize("number", ORDER)
def test_one_thing_has_one_name(number: str) -> None:
    found = [word for word in NEVER if re.search(rf"\b{word}s?\b", prose(number))]
    allowed = ["iteration"] if "iteration-level" in prose(number) else []
    assert [word for word in found if word not in allowed] == []
