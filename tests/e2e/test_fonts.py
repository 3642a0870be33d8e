"""Every system has a font of its own: words are measured in the one that the page shows."""

import pytest

import pagesim
from tests.e2e.browser import Page
from tests.e2e.test_layout import RUNS

FONTS = {"DejaVu Sans Condensed": 400, "DejaVu Serif": 1000}
"""Narrower and wider than the one in which the others test; the width of the window."""
SHEET = """
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(".pagesim-player { font-family: FONT !important; }");
    document.adoptedStyleSheets = [sheet];"""


@pytest.mark.parametrize("font", FONTS)
def test_nothing_overlaps(page: Page, font: str) -> None:
    page.size(FONTS[font], 900)
    sheet = {"source": SHEET.replace("FONT", f"'{font}'")}
    page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", sheet)
    for name in ("figure 8", "scheduled", "V1", "rows", "caching"):
        page.show(RUNS[name]())
        look = "return getComputedStyle(document.querySelector('.ps-stage text')).fontFamily"
        assert page.js(look).strip('"') == font
        steps = [0, int(page.data("steps") or 0) // 2, int(page.data("steps") or 0)]
        assert page.look("overlapsAt", steps) == [], name
        assert page.look("cutLabels") == [], name
        assert page.look("smallestText") >= 11


def test_a_word_that_does_not_fit_its_slot_is_left_out(page: Page) -> None:
    """Of words that grow letter by letter the longest that are shown just fit."""
    sheet = {"source": SHEET.replace("FONT", "'DejaVu Serif'")}
    page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", sheet)
    story = pagesim.Story(gpu_blocks=8, block_size=4)
    story.arrive(" ".join(("willow" * 3)[:length] for length in range(1, 17)))
    page.show(story.run, 1)
    words = page.js("""
        return [...document.querySelectorAll('.ps-cell .word')].map((word) => {
          const edge = word.parentNode.querySelector('.edge');
          return [word.getComputedTextLength(), edge.width.baseVal.value / 4];
        });""")
    assert 4 < len(words) < 17
    assert all(wide <= room for wide, room in words)


def test_digits_are_equally_wide(page: Page) -> None:
    """Else numbers under each other do not stand under each other."""
    page.show(RUNS["figure 8"]())
    look = "return getComputedStyle(document.querySelector('.ps-stage text')).fontVariantNumeric"
    assert page.js(look) == "tabular-nums"
