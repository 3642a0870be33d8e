"""The ledger of claims counts its own rows, and what it names in this repository exists."""

import re

import pytest

from pagesim.quirks import quirks
from tests.notebooks.chapters import CHAPTERS
from tools.course import ROOT

LEDGER = (ROOT / "docs/CLAIMS.md").read_text(encoding="utf-8")
CHECK = re.compile(r"2026-\d\d-\d\d (ok|wrong, corrected|open)")


def rows(text: str) -> list[list[str]]:
    """The cells of a table's rows, without its head."""
    return [line.strip("| ").split(" | ") for line in re.findall(r"^\|.*\|$", text, re.M)[2:]]


OF_CHAPTER = {
    int(number): rows(text)
    for number, text in re.findall(r"^## (\d+) · .*\n([^#]*)", LEDGER, re.MULTILINE)
}
COUNTED = {name: list(map(int, counts)) for name, *counts in rows(LEDGER.partition("\n## ")[0])}


def test_every_chapter_has_its_rows_and_its_counts() -> None:
    numbers = [int(each.values[0][:2]) for each in CHAPTERS]  # type: ignore[index]
    assert list(OF_CHAPTER) == numbers
    assert list(COUNTED) == [*map(str, numbers), "all"]
    *chapters, everything = COUNTED.values()
    assert [sum(column) for column in zip(*chapters, strict=True)] == everything


@pytest.mark.parametrize("number", OF_CHAPTER)
def test_the_counts_are_those_of_the_rows(number: int) -> None:
    table = OF_CHAPTER[number]
    assert {len(row) for row in table} == {4}
    checks = [found[1] for _, _, first, _ in table if (found := CHECK.fullmatch(first))]
    assert len(checks) == len(table), "a first check is a date and ok, wrong or open"
    claims, wrong, still_open, second = COUNTED[str(number)]
    assert len(table) == claims
    assert checks.count("open") == still_open
    assert checks.count("wrong, corrected") <= wrong, "some wrong claims were written anew"
    assert sum(last.startswith("2026-") for *_, last in table) == second


def test_the_recordings_and_the_surprises_exist() -> None:
    names = set(re.findall(r"`(?:tests/data/)?(v1(?:_groups|_offload)?/[\w-]+)`", LEDGER))
    data = ROOT / "tests/data"
    assert [name for name in names if not (data / f"{name}.jsonl.gz").is_file()] == []
    surprises = {quirk.quirk_id for quirk in quirks()}
    assert set(re.findall(r"\b([qwgo]\d\d)\b", LEDGER)) <= surprises
