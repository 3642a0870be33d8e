"""A chapter's knob in JupyterLab: turned, it runs the chapter's own scenario again."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.e2e.browser import Page
from tests.e2e.lab import Lab

CONTROLS = "[class*=pagesim-explorer]"


@pytest.mark.parametrize(
    ("chapter", "sentence"),
    [("07_the_scheduler", "tokens computed"), ("08_how_big_is_the_cache", "requests at once")],
)
def test_a_knob_of_a_chapter_turns(lab: Lab, page: Page, chapter: str, sentence: str) -> None:
    lab.open(page, f"notebooks/{chapter}.ipynb")
    lab.run_all(page)
    text = f"return document.querySelector('{CONTROLS}').innerText"
    before = page.until(
        f"const said = document.querySelector('{CONTROLS}')?.innerText; "
        f"return said?.includes('{sentence}') && said"
    )
    page.js(f"document.querySelector('{CONTROLS}').scrollIntoView({{block: 'center'}})")
    for _ in range(4):
        page.one(f"{CONTROLS} .noUi-handle").send_keys(Keys.ARROW_RIGHT)
    page.until(
        f"const said = document.querySelector('{CONTROLS}').innerText; "
        "return said.includes(arguments[0]) && said !== arguments[1]",
        sentence,
        before,
    )
    assert "Error" not in page.js(text)
    page.shot(f"knob-{chapter}")
