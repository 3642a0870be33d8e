"""What a teacher is told is true: the bank's answers, the exercises, their misconceptions."""

import re
from typing import Any

import pytest

import pagesim
from pagesim import exercises
from tools.course import NOTEBOOKS, ROOT

TEXT = (ROOT / "docs/TEACHING.md").read_text(encoding="utf-8")
BANK = re.findall(
    r"\*\*(\d+)\.\*\* \(chapter \d+\) .+?\n```python\n(.+?)```\n`(.+?)` is `(.+?)`:",
    TEXT,
    re.DOTALL,
)
NUMBERS = {
    11: "eleven",
    12: "twelve",
    13: "thirteen",
    16: "sixteen",
    17: "seventeen",
    18: "eighteen",
}
ROWS = re.findall(r"^\| \"(.+?)\" \| (\d+\.\d+) `(\w+)` \|", TEXT, re.MULTILINE)

PLANS = TEXT[TEXT.index("## Six sessions") : TEXT.index("## What students")]
KNOWN = {each.number: each for each in exercises.all()}


def test_the_folder_that_a_student_opens_has_no_answers() -> None:
    """JupyterLab lists what lies beside the chapters."""
    kinds = {path.suffix for path in NOTEBOOKS.iterdir() if path.is_file()}
    assert kinds <= {".ipynb", ".json"}, "chapters, and the progress file"


def test_nothing_of_the_bank_is_left_out() -> None:
    assert [int(number) for number, *_ in BANK] == list(range(1, 13))
    assert len(re.findall(r"^```python$", TEXT, re.MULTILINE)) == len(BANK)
    assert len(ROWS) >= 20


@pytest.mark.parametrize(("number", "code", "asked", "answer"), BANK)
def test_an_answer_of_the_bank(number: str, code: str, asked: str, answer: str) -> None:
    space: dict[str, Any] = {"pagesim": pagesim}
    exec(code, space)
    assert isinstance(space["run"], pagesim.Timeline), "there is a run to be shown"
    assert repr(eval(asked, space)) == answer, number


@pytest.mark.parametrize(("words", "number", "wrong"), ROWS)
def test_a_misconception_is_that_of_the_exercise(words: str, number: str, wrong: str) -> None:
    assert KNOWN[number].mistakes[wrong].misconception == words


def test_the_exercises_that_it_names_are_there() -> None:
    named = re.findall(r"(?<![\d.])(\d{1,2}\.\d)(?![\d.])", PLANS)
    assert len(named) > 40
    assert set(named) <= KNOWN.keys()


def test_the_numbers_are_those_of_the_registry_and_the_chapters() -> None:
    texts = [path.read_text(encoding="utf-8") for path in NOTEBOOKS.glob("*.ipynb")]
    reading = sum(int(re.findall(r"about (\d+) minutes", text)[0]) for text in texts)
    six = TEXT[TEXT.index("| session |") : TEXT.index("## Two weeks")]
    plan = six.split("\n\n")[0]
    numbers = set(re.findall(r"(?<= )\d{1,2}\.\d(?=[, ])", plan))
    used = [KNOWN[number] for number in sorted(numbers)]
    words_of_all = " ".join(TEXT.split())
    for words in (
        f"{NUMBERS[len(texts)]} chapters take about {reading / 60:.0f} hours",
        f"There are more than {(len(KNOWN) - 1) // 10}0",
        f"use {len(used)} of them, worth {sum(each.points for each in used)} points",
        f"more than {sum(len(e.mistakes) for e in KNOWN.values()) // 100}00 typical wrong answers",
    ):
        assert words in words_of_all


def test_the_exercises_of_a_session_and_of_a_lab_fit_into_it() -> None:
    starred = re.findall(r"(\d+\.\d) (★+)", PLANS)
    assert all(len(stars) == KNOWN[number].stars for number, stars in starred)
    rows = re.findall(r"^\| \d+ \| chapter.+", PLANS, re.M)
    labs = [row.split(" | ")[2].split(", or ") for row in rows]
    classes = re.findall(r"^\| \d \| (.+?) \| (\d+) to (\d+) \| (.+?) \| (\d+)", PLANS, re.M)
    assert len(labs) == 10 and len(classes) == 6
    for lab in (one for each in labs for one in each):
        assert longest(lab) <= 90, lab
    for row, least, most, home, at_home in classes:
        told = [int(minutes) for minutes in (least, most, at_home)]
        assert [shortest(row), longest(row), shortest(home)] == told
        assert longest(row) <= 35, row


def shortest(row: str) -> int:
    return sum((5, 15, 40)[len(stars) - 1] for stars in re.findall("★+", row))


def longest(row: str) -> int:
    """★★★ is 40 or more."""
    return sum((10, 25, 40)[len(stars) - 1] for stars in re.findall("★+", row))
