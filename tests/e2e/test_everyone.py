"""For a finger, a printer, a projector, a voice and a screen reader."""

from typing import Any

import pytest

import pagesim
from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_film import batch, reads
from tests.e2e.test_geometry import shared
from tests.e2e.test_layout import rows
from tests.e2e.test_race import pair as race
from tests.e2e.test_themes import contrast, hard_to_read

COLORS = """
    return [...document.querySelectorAll('.pagesim-player, .pagesim-pair')]
      .flatMap((node) => ['ink', 'muted', 'paper', 'line', 'held', 'mark', 'panel'].map((name) =>
        getComputedStyle(node).getPropertyValue(`--${name}`)))"""
SIGNS = """
    return [...document.querySelectorAll('.ps-sign')]
      .map((node) => getComputedStyle(node).printColorAdjust)"""
NAMES = """
    return [...document.querySelectorAll('button')].filter((node) => node.checkVisibility())
      .map((node) => [node.textContent, node.getAttribute('aria-label')])"""


def cdp(page: Page, command: str, **arguments: Any) -> None:
    page.driver.execute_cdp_cmd(command, arguments)


def drag(page: Page, css: str, dx: int, dy: int) -> None:
    """A finger goes down on an element, so far, and up."""
    x, y = page.look("middle", page.one(css))
    cdp(page, "Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    for part in range(1, 9):
        at = {"x": x + dx * part / 8, "y": y + dy * part / 8}
        cdp(page, "Input.dispatchTouchEvent", type="touchMove", touchPoints=[at])
    cdp(page, "Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def test_a_finger_scrolls_over_the_curve_and_seeks_along_it(page: Page) -> None:
    cdp(page, "Emulation.setTouchEmulationEnabled", enabled=True)
    page.size(400, 700)
    page.show(scenes.small(), 2)
    page.js("document.querySelector('.ps-course').scrollIntoView({block: 'center'})")
    before = page.js("return scrollY")
    drag(page, ".ps-curve", 0, 120)
    page.until(f"return scrollY < {before}")
    assert page.step == 2, "who scrolls does not seek"
    drag(page, ".ps-curve", 90, 0)
    page.until("return pagesimPlayer.step > 2")
    cdp(page, "Emulation.setTouchEmulationEnabled", enabled=False)


def test_a_swipe_over_the_picture_is_no_way_back_to_another_page(page: Page) -> None:
    page.show(scenes.small())
    for css in (".ps-stage", ".ps-curve"):
        look = f"return getComputedStyle(document.querySelector('{css}')).touchAction"
        assert page.js(look) == "pan-y pinch-zoom", css


@pytest.mark.parametrize("kind", ["one", "pair", "race"])
def test_a_dark_page_is_printed_on_white(page: Page, kind: str) -> None:
    run = scenes.scheduled()
    make = {"one": lambda: run, "pair": lambda: pagesim.compare(run, run[:20]), "race": race}
    page.show(make[kind](), address="step=12")
    page.themed("light")
    light = page.js(COLORS)
    page.dark()
    page.themed("dark")
    assert page.js(COLORS) != light
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    cdp(page, "Emulation.setEmulatedMedia", media="print", features=dark)
    assert page.js("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert hard_to_read(page) == []
    assert page.js(COLORS) == light, "a printer leaves out what lies behind the words"
    signs = page.js(SIGNS)
    assert set(signs) == {"exact"}, "nor does it leave out the colours of the signs"
    cdp(page, "Emulation.setEmulatedMedia", media="", features=dark)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_fields_have_edges_and_hints_that_can_be_seen(page: Page, theme: str) -> None:
    page.dark(theme == "dark")
    page.show(scenes.small())
    page.themed(theme)
    edge, ground, paper, hint = page.js("""
        const look = (css, name, part) => {
          const text = getComputedStyle(document.querySelector(css), part)[name];
          return text.match(/\\d+/g).map(Number);
        };
        return [look('.ps-search', 'borderTopColor'), look('.ps-search', 'backgroundColor'),
          look('body', 'backgroundColor'), look('.ps-search', 'color', '::placeholder')]""")
    assert min(contrast(edge, ground), contrast(edge, paper)) >= 3
    assert contrast(hint, ground) >= 4.5
    assert page.js("""
        const field = document.querySelector('.ps-search'), { font } = getComputedStyle(field);
        const pen = document.createElement('canvas').getContext('2d');
        pen.font = font;
        return pen.measureText(field.placeholder).width <= field.clientWidth - 18""")


def test_who_speaks_to_it_says_what_can_be_read(page: Page) -> None:
    """A button is called what is written on it, or if that is only a sign what it does."""
    for run in (scenes.scheduled(), pagesim.compare(scenes.scheduled(), rows())):
        page.show(run, address="step=3")
        for text, name in page.js(NAMES):
            words = any(letter.isalpha() for letter in text)
            assert name is None if words else name, text
    assert all(node.text for node in page.all(".ps-lines th"))


def test_f_fills_the_screen_with_a_pair(page: Page) -> None:
    page.show(pagesim.compare(scenes.small(), scenes.small()), address="")
    page.wait('.pagesim-pair[data-mounted="true"]')
    page.key("f", "body")
    page.until("return document.fullscreenElement?.className === 'pagesim-pair'")
    page.js("document.exitFullscreen()")
    page.until("return document.fullscreenElement === null")


LETTERS = """
    return [...document.querySelectorAll('.ps-stage text')].filter((node) => node.textContent)
      .map((node) => {
        const { a, b } = node.getScreenCTM();
        return parseFloat(getComputedStyle(node).fontSize) * Math.hypot(a, b);
      })"""


def test_a_projector_shows_letters_that_can_be_read(page: Page) -> None:
    """Of the highest picture too, which is made smaller to fit; and what a race is about."""
    page.size(1280, 720)
    page.show(batch().run.film(reads()), 2)
    page.key("f", "body")
    page.until("return document.fullscreenElement !== null")
    page.until("return document.querySelector('.ps-said').getBoundingClientRect().top > 400")
    assert min(page.js(LETTERS)) >= 11 and page.look("overlaps") == []
    page.js("document.exitFullscreen()")
    page.until("return document.fullscreenElement === null")
    page.show(race(), address="")
    page.wait('[data-mounted="true"]')
    page.key("f", "body")
    page.until("return document.fullscreenElement !== null")
    assert page.one(".ps-race h1").is_displayed()
    assert page.look("boxes", ".pagesim-pair > .ps-bar")[0]["bottom"] <= 720
    page.js("document.exitFullscreen()")
    page.until("return document.fullscreenElement === null")


def test_what_a_finger_has_tapped_is_told_on_the_screen(page: Page) -> None:
    page.size(400, 700)
    page.show(scenes.small(), 4)
    page.choose(11)
    (told,), (stage,) = page.look("boxes", ".ps-about"), page.look("boxes", ".ps-stage")
    assert stage["bottom"] > 700 >= told["bottom"] > told["top"] > stage["top"]


def test_neighbours_that_are_changed_alike_have_one_frame(page: Page) -> None:
    story = pagesim.Story(gpu_blocks=12, block_size=4)
    story.arrive(range(40))
    page.show(story.run, 1)
    assert len(page.all(".ps-cell")) == 12
    pool = page.look("boxes", ".ps-stage .heading", "GPU pool")[0]["left"]
    frames = [f for f in page.look("boxes", ".over .frame") if f["left"] > pool - 30]
    beside = [
        f
        for f in frames
        if f["bottom"] < page.look("boxes", ".under text", "GPU free list")[0]["y"]
    ]
    assert len(beside) == 1, "all are taken and written"
    assert len(page.all(".ps-stage .wire")) == 10, "and where they are is seen"


def test_a_copy_goes_the_short_way(page: Page) -> None:
    page.size(1400, 900)
    page.show(scenes.small(), 5)
    (copy,) = (e for e in scenes.small()[4].effects if e.kind == "copy")
    length = page.js("return document.querySelector('.ps-stage .arrow').getTotalLength()")
    source, target = (
        page.look("boxes", f'[data-block="{b}"] .edge')[0] for b in (copy.block, copy.to)
    )
    scale = page.js("""
        const stage = document.querySelector('.ps-stage');
        return stage.getBoundingClientRect().width / stage.viewBox.baseVal.width""")
    (word,) = page.look("boxes", f'[data-block="{copy.block}"] .mid')[-1:]
    aside = source["right"] + 30 * scale - (word["left"] + word["right"]) / 2
    assert length * scale < abs(target["y"] - source["y"]) + 2 * aside, "round what lies between"
    assert page.look("arrowEnds") == [copy.to]


def test_of_blocks_of_other_sizes_slots_are_compared(page: Page) -> None:
    one = pagesim.Story(gpu_blocks=8, block_size=4)
    one.arrive(range(6))
    other = pagesim.Story(gpu_blocks=16, block_size=2)
    other.arrive(range(6))
    page.show(pagesim.compare(one.run, other.run), address="")
    page.wait('.pagesim-pair[data-mounted="true"]')
    page.click("pair-last")
    words = page.js("return pagesimPair.differences")
    assert "s0: 6 tokens in 8 slots | 6 tokens in 6 slots" in words
    assert "memory held: 25.0 % | 18.8 %" in words
    assert "with tokens: 18.8 % | 18.8 %" in words
    lines = page.look("lines")
    assert [line[-1] for line in lines] == ["slots held", "8 of 32", "6 of 32"]


def test_thin_lines_can_be_seen_in_both_themes(page: Page) -> None:
    for theme in ("light", "dark"):
        page.dark(theme == "dark")
        page.show(shared(), 4)
        page.themed(theme)
        lead, paper = page.js("""
            const look = (css) => getComputedStyle(document.querySelector(css));
            return [look('.ps-stage .lead').stroke, look('body').backgroundColor]
              .map((color) => color.match(/\\d+/g).map(Number))""")
        assert contrast(lead, paper) >= 3
