"""Every system has a font of its own: words are measured in the one that the page shows."""

import pytest

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


def test_digits_are_equally_wide(page: Page) -> None:
    """Else numbers under each other do not stand under each other."""
    page.show(RUNS["figure 8"]())
    look = "return getComputedStyle(document.querySelector('.ps-stage text')).fontVariantNumeric"
    assert page.js(look) == "tabular-nums"
