"""`pagesim.explore` in JupyterLab: a moved slider makes another run and swaps its player in."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.e2e.browser import Page
from tests.e2e.lab import Lab

SCENARIO = """
import pagesim
from pagesim.lesson.explore import explore

def scenario(block_size=4, blocks=12, caching=False, prompt=6):
    manager = pagesim.SelfAttnBlockSpaceManager(
        block_size, blocks, 0, watermark=0.0, enable_caching=caching)
    with pagesim.record(manager) as run:
        for number in range(3):
            sequence = pagesim.Sequence(number, list(range(prompt)), block_size)
            manager.allocate(pagesim.SequenceGroup(str(number), [sequence]))
    return run

explore(scenario, block_size=[2, 4, 8], blocks=(4, 16), caching=False, prompt=(1, 24))
"""
HEADER = "return pagesimPlayer.header"
FRAME = "iframe.pagesim-frame"
SLIDERS = ".widget-slider .noUi-handle"


@pytest.fixture
def explorer(lab: Lab, page: Page) -> Page:
    lab.open(page, lab.notebook("explorer.ipynb", SCENARIO))
    lab.run_all(page)
    page.frame(FRAME).ready()
    return page


def leave(page: Page) -> None:
    """Go out of the player, with a mark that tells it from the next one."""
    page.top()
    page.js("document.querySelector(arguments[0]).dataset.old = 'yes'", FRAME)


def slide(page: Page, number: int, key: str) -> None:
    """Press a key on a slider, which makes the next player."""
    leave(page)
    page.all(SLIDERS)[number].send_keys(getattr(Keys, key))


def swapped(page: Page) -> Page:
    return page.frame(f"{FRAME}:not([data-old])").ready()


def test_a_slider_makes_another_run(explorer: Page) -> None:
    assert explorer.js(HEADER)["num_gpu_blocks"] == 12
    assert len(explorer.all(".ps-stage [data-block]")) == 12
    slide(explorer, 0, "ARROW_RIGHT")
    swapped(explorer)
    assert explorer.js(HEADER)["num_gpu_blocks"] == 13
    assert len(explorer.all(".ps-stage [data-block]")) == 13
    explorer.top().shot("explorer")
    assert explorer.frame(FRAME).step == 1, "the first one opened where there is something to see"
    explorer.click("next")
    assert explorer.step == 2


def test_it_opens_where_there_is_something_to_see(explorer: Page) -> None:
    """The new one as well, as long as its reader has not left that step."""
    assert explorer.step == 1
    for _ in range(2):
        slide(explorer, 1, "ARROW_LEFT")
        assert swapped(explorer).step == 1
    explorer.click("first")
    slide(explorer, 0, "ARROW_RIGHT")
    swapped(explorer).until("return pagesimPlayer.step === 0")


def test_nothing_scrolls_that_has_room(explorer: Page) -> None:
    wide = """
        return [...document.querySelectorAll('.pagesim-explorer, .pagesim-explorer *')]
          .filter((one) => one.scrollWidth > one.clientWidth
            && ['auto', 'scroll'].includes(getComputedStyle(one).overflowX))
          .map((one) => [one.className, one.scrollWidth, one.clientWidth]);"""
    assert explorer.top().js(wide) == []


def test_the_arrow_of_a_list_is_seen_in_both_themes(lab: Lab, explorer: Page) -> None:
    explorer.top()
    arrow = """return getComputedStyle(document.querySelector('.pagesim-explorer select'))
        .backgroundImage"""
    light = explorer.js(arrow)
    with lab.dark(explorer):
        explorer.until(f"{arrow} !== arguments[0]", light)


def test_the_step_is_kept_where_it_can_be(explorer: Page) -> None:
    explorer.key("END")
    explorer.key("ARROW_LEFT")
    explorer.until("return pagesimPlayer.step === 2")
    slide(explorer, 0, "ARROW_RIGHT")
    swapped(explorer).until("return pagesimPlayer.step === 2")


def test_a_choice_and_a_tick_count_too(explorer: Page) -> None:
    leave(explorer)
    explorer.one(".widget-dropdown select").send_keys("8")
    assert swapped(explorer).js(HEADER)["block_size"] == 8
    leave(explorer)
    explorer.one(".widget-checkbox input").click()
    assert swapped(explorer).js(HEADER)["caching"] is True


def test_what_goes_wrong_is_one_line_and_can_be_undone(explorer: Page) -> None:
    explorer.top()
    explorer.all(SLIDERS)[0].send_keys(*[Keys.ARROW_LEFT] * 12)  # down to 4 blocks
    explorer.until("return document.querySelector('.widget-html [role=alert]')")
    alert = explorer.text(".widget-html [role=alert]")
    assert alert == "NoFreeBlocksError: no free block: all 4 of this pool are taken"
    assert explorer.all(FRAME) == []
    assert explorer.all('[data-mime-type="application/vnd.jupyter.stderr"]') == []
    explorer.all(SLIDERS)[0].send_keys(*[Keys.ARROW_RIGHT] * 12)
    explorer.frame(FRAME).ready()
    assert explorer.top().all(".widget-html [role=alert]") == []


def test_no_key_on_a_control_reaches_the_notebook(lab: Lab, explorer: Page) -> None:
    explorer.top()
    before = len(lab.cells(explorer))
    for css in (SLIDERS, ".widget-dropdown select", ".widget-checkbox input", ".widget-readout"):
        for key in ("a", "b", "m", "x"):
            explorer.one(css).send_keys(key)
    assert len(lab.cells(explorer)) == before
