"""The pages of docs/questions show what their code prints, and the index leads to all of them."""

import json
import os
import re
from pathlib import Path

import pytest

from pagesim.explain.finding import Finding
from pagesim.quirks.asked import asked
from tools import questions
from tools.questions import Page, pages

pytestmark = pytest.mark.ch00

PAGES = {page.path.stem: page for page in pages()}
LINK = re.compile(r"\[([^]]+)\]\((https?://[^)]+)\)")
THREAD = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
NOTEBOOKS = Path(questions.ROOT, "notebooks")


SLOW = {"watermark-size", "key-value-shapes", "hits-collapse", "more-users-fewer-hits"}
"""Pages that take most of the time; `make nightly` runs them."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_code_prints(name: str) -> None:
    if name in SLOW and "PAGESIM_LONG" not in os.environ:
        pytest.skip("make nightly runs the slow pages")
    assert list(questions.stale(PAGES[name])) == []


@pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))
def test_each_page_has_its_parts(page: Page) -> None:
    assert page.title.endswith("?") and len(page.title) < 100
    assert page.symptoms and page.chapters and page.examples
    parts = [page.text.index(f"\n**{part}.** ") for part in ("What to do", "Versions", "Threads")]
    assert parts == sorted(parts) and page.text.index("```text") < parts[0]
    versions = page.text[parts[1] : parts[2]]
    assert "V0" in versions and "V1" in versions
    for kind, code, shown in page.examples:
        assert shown and len([line for line in code.splitlines() if line.strip()]) <= 12, code
        assert max(map(len, code.splitlines())) <= (100 if kind == "py" else 120), code
    links = LINK.findall(page.text[parts[2] :])
    assert links
    for words, url in links:
        thread = THREAD.fullmatch(url)
        assert thread, url
        repository, number = thread.groups()
        short = "vllm" if repository == "vllm-project/vllm" else repository
        assert words == f"{short}#{number}"


def test_all_code_is_run() -> None:
    """No block of code stands on a page without what it prints, so none is left out."""
    for page in PAGES.values():
        assert len(re.findall(r"^```(?:py|sh)$", page.text, re.MULTILINE)) == len(page.examples)
        assert page.text.count("```") == 4 * len(page.examples)


def test_quirks_and_chapters_exist() -> None:
    counts = {"q": 46, "w": 33, "g": 28, "o": 27}
    chapters = {path.name[:2] for path in NOTEBOOKS.glob("[0-9]*.ipynb")}
    for page in PAGES.values():
        assert set(page.chapters) <= chapters, page.path.name
        for quirk in page.quirks:
            assert re.fullmatch(r"[qwgo]\d\d", quirk) and 1 <= int(quirk[1:]) <= counts[quirk[0]]


def test_the_index_is_that_of_the_pages() -> None:
    assert questions.INDEX.read_text("utf-8") == questions.index(pages())
    assert questions.TABLE.read_text("utf-8") == questions.table(pages())
    rows = json.loads(questions.TABLE.read_text("utf-8"))
    assert len(rows) == len(PAGES) >= 30
    assert all((questions.ROOT / row["page"]).is_file() for row in rows)


def test_a_quirk_leads_to_its_pages() -> None:
    assert asked("w08")[0].page == "docs/questions/waits-forever.md"
    assert all("w03" in its.quirks for its in asked("w03")) and len(asked("w03")) > 3
    assert asked("q99") == []
    see = Finding("w08", "a title", "a detail").see
    assert see == "pagesim quirks w08, docs/questions/waits-forever.md"
    assert Finding(None, "a title", "a detail").see == ""


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("a\nb\n", "b\na\n", False),
        ("…\nb\n", "a\nb\n", True),
        ("a\n…\n", "a\nb\nc\n", True),
        ("a\n…\n", "b\nc\n", False),
        ("…\nb\n…\nd\n", "a\nb\nc\nd\n", True),
        ("…\nd\n…\nb\n", "a\nb\nc\nd\n", False),
    ],
)
def test_three_dots_stand_for_any_lines(shown: str, printed: str, expected: bool) -> None:
    assert questions.shows(shown, printed) is expected


def test_a_page_that_shows_something_else_is_found(tmp_path: Path) -> None:
    path, text = (
        tmp_path / "page.md",
        "<!--\ntheme: Sizing\nsymptoms: a; b\nquirks:\nchapters: 08\n",
    )
    text += "-->\n# Why?\n\n```py\nprint(6 * 7)\n```\n\n```text\n41\n```\n"
    path.write_text(text)
    page = Page.read(path)
    assert (page.symptoms, page.quirks) == (("a", "b"), ())
    (found,) = questions.stale(page)
    assert "prints something else" in found
    path.write_text(page.written())
    assert list(questions.stale(Page.read(path))) == []
    path.write_text(text.replace("Sizing", "Nothing"))
    with pytest.raises(ValueError, match=r"page\.md: there is no theme 'Nothing'"):
        Page.read(path)
