"""A second tier in the browser: copies as lines that last, and targets that fill at the end."""

import random

import pytest

from pagesim.player.page import page as document
from tests.e2e.browser import Page
from tests.e2e.test_layout import WIDTHS
from tests.e2e.test_themes import hard_to_read
from tests.player import samples, tiered

FILES = {name: make() for name, make in tiered.RUNS.items()}
STORED, LOADING, LOADED = 12, 17, 26
LINES = "return document.querySelectorAll('.ps-stage .copy').length"
TEXT = "return [...document.querySelectorAll('.ps-stage text')].map((node) => node.textContent)"
HATCHED = """
    return [...document.querySelectorAll('.ps-cell')].filter((g) => g.querySelector('.hatched'))
      .map((g) => Number(g.dataset.block));"""


def shown(page: Page, name: str, step: int = 0) -> Page:
    """A file in the browser, at a step."""
    html = document(samples.packed(*FILES[name]), title=name, alt="two pools")
    (page.files / "run.html").write_text(html, encoding="utf-8")
    page.open(page.files / "run.html")
    page.js("pagesimPlayer.goto(arguments[0])", step)
    return page


def test_a_copy_lasts_until_it_ends(page: Page) -> None:
    page.size(1400, 900)
    page.still()
    shown(page, "one", STORED)
    assert page.js(LINES) == 6 and page.js(HATCHED) == list(range(11, 17))
    begun = page.js("return document.querySelectorAll('.ps-stage .copy.begun').length")
    page.key("ARROW_RIGHT")
    later = page.js("return document.querySelectorAll('.ps-stage .copy.begun').length")
    assert (begun, later, page.js(LINES)) == (6, 0, 6)
    page.js("pagesimPlayer.goto(arguments[0])", LOADING)
    assert page.js(LINES) == 8 and page.js(HATCHED)[:2] == [1, 2]
    assert "b loads 2 blocks" in page.js(TEXT)
    page.js("pagesimPlayer.goto(arguments[0])", LOADED)
    assert page.js(LINES) == 0 == len(page.js(HATCHED)) and "b loaded" in page.js(TEXT)
    assert page.console() == []


def test_the_pools_and_the_queues_stand_in_order(page: Page) -> None:
    page.size(1400, 900)
    shown(page, "two", LOADING + 1)
    gpu, cpu = (page.look("boxes", f'.ps-cell[data-block="{block}"]')[0] for block in (8, 9))
    assert gpu["bottom"] < cpu["top"], "the second tier is below"
    names = "kv_holding_", "running"
    holding, running = (page.look("boxes", ".ps-stage text", name)[0]["y"] for name in names)
    waiting = min(box["y"] for box in page.look("boxes", ".ps-stage text", "waiting"))
    assert waiting < holding < running
    assert "c waits for a copy" in page.js(TEXT)


def test_the_line_of_a_copy_grows_and_its_target_waits(page: Page) -> None:
    page.size(1400, 900)
    shown(page, "one", STORED)
    assert page.js("return pagesimPlayer.beats") == ["take", "copy"]
    for back, lines in ((False, 0), (True, 6)):
        page.look("beat", 1, back)
        assert len(page.all(".ps-ghosts .growing")) == 6
        assert page.js(LINES) == lines, "a line is there when it has grown"
    shown(page, "one", LOADED)
    assert page.js("return pagesimPlayer.beats")[0] == "copy"
    for back, lines, hatched in ((False, 2, 2), (True, 0, 0)):
        page.look("beat", 0, back)
        assert len(page.look("ghosts")) == 2, "what was copied is on its way"
        assert (page.js(LINES), len(page.js(HATCHED))) == (lines, hatched)


def test_a_block_says_what_is_copied(page: Page) -> None:
    shown(page, "one", LOADING)
    page.choose(1)
    assert "eing loaded from 9" in page.text(".ps-detail")
    assert len(page.all(".ps-stage .copy.dim")) == 7, "one line is followed"


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overlaps(page: Page, width: int) -> None:
    page.size(width, WIDTHS[width])
    page.still()
    rng = random.Random(width)
    for name, (_, events) in FILES.items():
        shown(page, name)
        steps = [rng.randrange(len(events) + 1) for _ in range(8)]
        assert page.look("overlapsAt", steps) == [], name
        assert page.look("smallestText") >= 11, name
        assert page.js("return document.documentElement.scrollWidth") <= width, name
    assert page.console() == []


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_readable(page: Page, dark: bool) -> None:
    page.dark(dark)
    for name in FILES:
        shown(page, name, LOADING)
        assert hard_to_read(page) == [], name
    page.shot(f"tier-{'dark' if dark else 'light'}")
