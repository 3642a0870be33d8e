"""The numbers and the sources of docs/paper.md."""

import json
import re
from pathlib import Path

import pytest

from pagesim import exercises, quirks

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs/paper.md").read_text("utf-8")
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def predictions() -> int:
    cells = [cell for path in CHAPTERS for cell in json.loads(path.read_text("utf-8"))["cells"]]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return sum(text.count("pagesim.predict(") for text in code)


def recordings() -> int:
    """Those of the kit: see the Makefile."""
    data, ours = "tests/data/", "pagesim/exercises/ch09/recordings/*"
    places = (f"{data}*-*-[0-9][0-9][0-9]", f"{data}v1/*", f"{data}v1_*/*", ours)
    found = [path.name for place in places for path in ROOT.glob(f"{place}.jsonl.gz")]
    return len(set(found) - {"sizing-cases.jsonl.gz"})


COUNTS = {
    r"(\d+) exercises that": lambda: len(exercises.all()),
    r"lists (\d+) of them": lambda: len(list(quirks.quirks())),
    r"further (\d+) pages": lambda: len(list((ROOT / "docs/questions").glob("[!R]*.md"))),
    r"recognize (\d+) typical": lambda: sum(len(one.wrong) for one in exercises.all()),
    r"with (\d+)\s+recordings": recordings,
    r"ask for (\d+) predictions": predictions,
}


@pytest.mark.parametrize("words", COUNTS)
def test_a_number_is_that_of_the_repository(words: str) -> None:
    (told,) = re.findall(words, TEXT)
    assert int(told) == COUNTS[words]()
    assert len(CHAPTERS) == 18 and "eighteen chapters" in TEXT


def test_every_source_is_cited_and_every_citation_has_its_source() -> None:
    sources = re.findall(r"^@\w+\{(\w+),$", (ROOT / "docs/paper.bib").read_text("utf-8"), re.M)
    assert sorted(sources) == sorted(set(re.findall(r"\[@(\w+)\]", TEXT)))
