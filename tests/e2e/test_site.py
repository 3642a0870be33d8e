"""`make site`: the chapters as pages that need no server, with players that are alive."""

import re
from pathlib import Path

import pytest

from tests.e2e.browser import Page, corner
from tests.e2e.test_themes import contrast
from tools.course import NOTEBOOKS, site

CHAPTERS = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    written = site.build(CHAPTERS, target)
    assert {path.stem for path in written} == {path.stem for path in CHAPTERS} | {"index"}
    return target


def visit(page: Page, path: Path) -> Page:
    """Open a page as on a machine without a network."""
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["http://*", "https://*"]})
    page.requests()
    page.driver.get(path.as_uri())
    return page


def test_the_index_leads_to_the_chapters(page: Page, folder: Path) -> None:
    visit(page, folder / "index.html").shot("site-index")
    assert len(page.all("article h3 a")) == len(CHAPTERS)
    page.all("article h3 a")[0].click()
    page.wait("main section")


@pytest.mark.parametrize("name", [path.stem for path in CHAPTERS])
def test_a_page_is_alive_without_a_network(page: Page, folder: Path, name: str) -> None:
    visit(page, folder / f"{name}.html")
    count = len([player.turn("next") for player in page.players()])
    assert count == (NOTEBOOKS / f"{name}.ipynb").read_text("utf-8").count("pagesim-frame")
    page.shot(f"site-{name}")
    remote = {url for url in page.requests() if url.startswith("http")}
    assert remote == set()


@pytest.mark.parametrize("name", ["index", *(path.stem for path in CHAPTERS)])
def test_a_page_fits_a_phone(page: Page, folder: Path, name: str) -> None:
    """Long lines of code scroll in their box; nothing else is wider than the window."""
    page.size(400, 900)
    visit(page, folder / f"{name}.html")
    page.js("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.js("return document.documentElement.scrollWidth") == 400


@pytest.mark.parametrize("name", ["index", *(path.stem for path in CHAPTERS)])
def test_a_page_is_dark_when_the_system_is(page: Page, folder: Path, name: str) -> None:
    visit(page, folder / f"{name}.html")
    grounds = set()
    for dark in (False, True):
        page.dark(dark)
        page.shot(f"site-{name}-{'dark' if dark else 'light'}")
        grounds.add(page.js("return getComputedStyle(document.body).backgroundColor"))
        texts = page.look("textsOfPage")
        assert len(texts) > 20
        faint = {text for text, ink, ground in texts if contrast(ink, ground) < 4.5}
        assert faint == set()
        for figure in page.all(".output > img"):
            assert (corner(figure) < 0.2) is dark
        for player in page.players():
            assert player.data("theme") == ("dark" if dark else "light")
    assert len(grounds) == 2


def test_the_player_asks_at_the_step_that_chapter_0_names(page: Page, folder: Path) -> None:
    """Where a token fills a block or needs one, in the same words: none names an answer."""
    visit(page, folder / "00_start_here.html")
    page.frame("iframe.pagesim-frame").ready().click("predict")
    asked = set()
    for step in (2, 3, 5):
        page.go(step)
        assert page.data("asking") == str(step)
        asked.add(re.sub(r"\d", "#", page.text(".ps-ask")))
    page.go(4)
    assert page.data("asking") is None, "the token has room in its block"
    assert len(asked) == 1, asked


def test_an_answer_is_folded_on_the_page(page: Page, folder: Path) -> None:
    visit(page, folder / "02_blocks_tables_slots.html")
    answers = page.all("details.answer")
    written = (NOTEBOOKS / "02_blocks_tables_slots.ipynb").read_text("utf-8")
    assert len(answers) == written.count(".reveal()") > 2
    for answer in answers:
        assert len(answer.text.splitlines()) == 1
        answer.find_element("css selector", "summary").click()
        assert len(answer.text.splitlines()) > 1


def test_the_mathematics_is_drawn(page: Page, folder: Path) -> None:
    visit(page, folder / "03_reading_through_a_table.html")
    formulas = page.look("boxes", "main math")
    assert len(formulas) > 10
    for each in formulas:
        assert each["right"] - each["left"] > 4 and each["bottom"] - each["top"] > 4
    over, under, *_ = page.look("boxes", "main math mfrac > *")
    assert over["y"] < under["y"]
