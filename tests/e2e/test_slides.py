"""`make slides`: the arrows turn the slides until a player has the focus; nothing is fetched."""

import os
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.e2e.browser import Page
from tests.e2e.test_site import visit
from tests.e2e.test_themes import contrast
from tools.course import NOTEBOOKS, ROOT, slides

INSTALLED = ROOT / ".venv/reveal/sphinx_revealjs/_static/revealjs"
REVEAL = Path(os.environ.get("PAGESIM_REVEAL") or INSTALLED)
PLAYER = "section.present section.present iframe.pagesim-frame"


@pytest.fixture
def deck(page: Page, tmp_path: Path) -> Page:
    if not (REVEAL / "dist/reveal.js").is_file():
        pytest.skip("reveal.js is not installed: make slides does it")
    (path,) = slides.build([NOTEBOOKS / "04_growing_and_sharing.ipynb"], tmp_path / "deck", REVEAL)
    visit(page, path)
    page.until("return window.Reveal && Reveal.isReady()")
    return page


def press(page: Page, key: str) -> list[int]:
    """Press a key wherever the focus is; returns where the slides stand then."""
    ActionChains(page.driver).send_keys(key).perform()
    return page.js("const at = top.Reveal.getIndices(); return [at.h, at.v]")


def test_the_arrows_turn_slides_until_a_player_has_the_focus(deck: Page) -> None:
    assert press(deck, Keys.ARROW_RIGHT) == [1, 0]
    down = 0
    while not deck.js(f"return document.querySelector('{PLAYER}') !== null"):
        down += 1
        assert press(deck, Keys.ARROW_DOWN) == [1, down], "no player in the first section"
    deck.one(PLAYER).click()
    assert press(deck, Keys.ARROW_RIGHT) == [1, down], "the player's key turned the slide"
    deck.frame(PLAYER).ready()
    before = deck.step
    ActionChains(deck.driver).send_keys(Keys.ARROW_RIGHT).perform()
    deck.until(f"return pagesimPlayer.step === {before + 1}")
    deck.top()
    deck.one("section.present section.present .where").click()
    assert press(deck, Keys.ARROW_RIGHT) == [2, 0], "a click beside it gives the arrows back"


def test_a_slide_with_more_than_it_can_show_is_scrolled_by_the_keyboard(deck: Page) -> None:
    """It has the focus then; at its end the arrow turns it."""
    deck.js("document.querySelector('section.present section.present').focus()")
    deck.js("document.activeElement.style.maxHeight = '200px'")
    assert press(deck, Keys.ARROW_DOWN) == [0, 0]
    deck.until("return document.activeElement.scrollTop > 50")
    deck.until("const at = document.activeElement; at.scrollTop = at.scrollHeight; return true")
    assert press(deck, Keys.ARROW_RIGHT) == [1, 0]


def test_a_slide_is_as_dark_as_its_player(deck: Page) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = deck.js(ground)
    deck.dark()
    assert deck.js(ground) != light
    faint = [text for text, ink, behind in deck.look("textsOfPage") if contrast(ink, behind) < 4.5]
    assert faint == []


def test_the_slides_fetch_nothing(deck: Page) -> None:
    outside = [url for url in deck.requests() if not url.startswith(("file:", "data:", "about:"))]
    assert outside == [] and deck.console() == []
