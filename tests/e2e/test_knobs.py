"""A chapter's knob in JupyterLab: turned, it runs the chapter's own scenario again."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.e2e.browser import Page
from tests.e2e.lab import Lab

CONTROLS = "[class*=pagesim-explorer]"
SAID = f"const said = document.querySelector('{CONTROLS}')?.innerText;"


@pytest.mark.parametrize(
    ("chapter", "sentence"),
    [("07_the_scheduler", "tokens computed"), ("08_how_big_is_the_cache", "requests at once")],
)
def test_a_knob_of_a_chapter_turns(lab: Lab, page: Page, chapter: str, sentence: str) -> None:
    lab.open(page, f"notebooks/{chapter}.ipynb")
    lab.run_all(page)
    before = page.until(f"{SAID} return said?.includes(arguments[0]) && said", sentence)
    page.js(f"document.querySelector('{CONTROLS}').scrollIntoView({{block: 'center'}})")
    for _ in range(4):
        page.one(f"{CONTROLS} .noUi-handle").send_keys(Keys.ARROW_RIGHT)
    turned = f"{SAID} return said.includes(arguments[0]) && said !== arguments[1]"
    page.until(turned, sentence, before)
    assert "Error" not in page.js(f"{SAID} return said")
    page.shot(f"knob-{chapter}")
