"""Several groups in the browser: a lane for each table, a lookup by answers, letters on blocks."""

import random
from typing import Any

import pytest

from pagesim.player.page import page as document
from tests.e2e.browser import Page
from tests.e2e.test_layout import WIDTHS
from tests.e2e.test_themes import hard_to_read
from tests.player import grouped, samples

FILES = {name: make() for name, make in grouped.RUNS.items()}
TEXT = "return [...document.querySelectorAll('.ps-stage text')].map((node) => node.textContent)"
LOOKUPS = {name: [i + 1 for i, e in enumerate(events) if e["event"] == "get_computed_blocks"]
           for name, (_, events) in FILES.items()}  # fmt: skip


def shown(page: Page, name: str, step: int = 0, **more: Any) -> Page:
    """A file in the browser, at a step."""
    head, events = FILES[name]
    html = document(samples.packed(head | more, events), title=name, alt="tables of groups")
    (page.files / "run.html").write_text(html, encoding="utf-8")
    page.open(page.files / "run.html")
    page.js("pagesimPlayer.goto(arguments[0])", step)
    return page


def bars(page: Page) -> list[float]:
    """Where the candidate of a lookup ends; empty where there is none."""
    return page.js("""
        const line = document.querySelector('.ps-stage .candidate');
        return line ? [line.getBoundingClientRect().left] : [];""")


def test_a_lane_for_each_group(page: Page) -> None:
    page.size(1400, 900)
    shown(page, "three", 9)
    words = page.js(TEXT)
    assert {"F", "W", "S", "full", "window 8", "state", "behind the window"} <= set(words)
    assert words.count("state after 18 tokens") == 2, "in the table, and in the pool"
    assert not {"r0@0", "r0@1"} & set(words) and "r0" in words
    page.shot("groups-lanes")
    assert page.console() == []


def test_positions_stand_below_each_other(page: Page) -> None:
    """Blocks 11 and 12 hold the same tokens of two groups; block 13 the state after them."""
    page.size(1400, 900)
    shown(page, "three", 9)
    full, window, state = (
        min(page.look("boxes", ".ps-stage .under.texts text", block), key=lambda b: b["y"])
        for block in ("11", "12", "13")
    )
    assert full["x"] == pytest.approx(window["x"], abs=1) == pytest.approx(state["x"], abs=1)
    assert full["y"] < window["y"] < state["y"]


def test_an_arrow_key_is_an_answer(page: Page) -> None:
    page.size(1400, 900)
    page.still()
    step = LOOKUPS["long"][2]
    shown(page, "long", step)
    (begin,) = bars(page)
    said = [page.text(".ps-caption")]
    places = [begin]
    for answer in (1, 2, 3):
        page.key("ARROW_RIGHT")
        assert (page.step, page.data("round")) == (step, str(answer))
        said.append(page.text(".ps-caption"))
        places += bars(page)
        page.shot(f"groups-lookup-{answer}")
    assert places[0] == places[1] > places[2] == places[3], "the window shortens it"
    assert "64" not in said[0] + said[1] and "64" in said[2]
    assert "hit: 64 tokens" in page.js(TEXT)
    page.key("ARROW_RIGHT")
    assert page.step == step + 1 and page.data("round") is None and bars(page) == []
    page.key("ARROW_LEFT")
    assert (page.step, page.data("round"), page.text(".ps-caption")) == (step, "3", said[3])
    for answer in (2, 1, 0):
        page.key("ARROW_LEFT")
        assert (page.data("round"), page.text(".ps-caption")) == (str(answer), said[answer])
    page.key("ARROW_LEFT")
    assert page.step == step - 1


def test_what_a_candidate_loses_is_seen_to_go(page: Page) -> None:
    shown(page, "long", LOOKUPS["long"][2])
    page.moving()
    page.key("ARROW_RIGHT")
    assert page.all(".ps-ghosts .lost") == [], "full attention has it all"
    page.key("ARROW_RIGHT")
    assert len(page.all(".ps-ghosts .lost")) == 1
    page.still()
    shown(page, "long", LOOKUPS["long"][2])
    page.key("ARROW_RIGHT")
    page.key("ARROW_RIGHT")
    assert page.all(".ps-ghosts .lost") == []


def test_buttons_give_answers_too(page: Page) -> None:
    shown(page, "three", LOOKUPS["three"][1])
    page.click("next")
    assert page.data("round") == "1"
    page.click("prev")
    assert page.data("round") == "0"
    assert page.one(".ps-caption").get_attribute("aria-live") == "polite"


def test_what_a_table_gave_up_is_said_once_for_each_table(page: Page) -> None:
    shown(page, "three", 12)
    changes = page.text(".ps-changes")
    assert "entries 0\u20131 of r1 (window 8), entry 0 of r1 (state)" in changes


def test_a_request_is_followed_in_all_groups(page: Page) -> None:
    page.size(1400, 900)
    shown(page, "three", 12)
    page.look("clickText", ".ps-stage .under .name", "r0: 18 tokens")
    about = page.text(".ps-detail")
    assert "full: blocks 1, 2" in about and "2 behind the window" in about and "r0@" not in about
    dim = page.js("return document.querySelectorAll('.ps-cell.dim').length")
    cells = page.js("return document.querySelectorAll('.ps-cell').length")
    state = page.state()
    held = {b for name, ids, *_ in state["tables"] for b in ids if name.startswith("r0@")} - {0}
    assert cells - dim == len(held)
    page.click("sel-prev")
    assert page.step < 12


def test_a_word_leads_to_the_block_of_its_group(page: Page) -> None:
    page.size(1400, 900)
    shown(page, "three", 9)
    cell = page.one('.ps-cell[data-block="12"] .edge')
    page.look("pointAt", cell, cell, 12)
    assert "of r0 (window 8)block 12, offset 0" in page.text(".ps-note")
    assert page.look("traced") == 2, "the table's entry, and the word"
    cell = page.one('.ps-cell[data-block="13"] .edge')
    page.look("pointAt", cell, cell, 12)
    assert "the state after 18 tokens" in page.text(".ps-detail")
    page.key("ENTER", '[data-block="13"] .edge')
    focused = page.one('[data-block="13"] .edge')
    assert "state" in str(focused.get_attribute("aria-description"))


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overlaps(page: Page, width: int) -> None:
    page.size(width, WIDTHS[width])
    page.still()
    rng = random.Random(width)
    for name, (_, events) in FILES.items():
        steps = [*LOOKUPS[name][:3], *(rng.randrange(len(events) + 1) for _ in range(8))]
        shown(page, name)
        assert page.look("overlapsAt", steps) == [], name
        assert page.look("smallestText") >= 11, name
        for answer in range(2):
            page.js("pagesimPlayer.goto(arguments[0])", LOOKUPS[name][-1])
            for _ in range(answer + 1):
                page.key("ARROW_RIGHT")
            assert page.look("overlaps") == [], (name, answer)
        wide = page.js("return document.documentElement.scrollWidth")
        assert wide <= width, name
    assert page.console() == []


def test_controls_and_stage_fit_a_laptop(page: Page) -> None:
    page.size(1000, 640)
    for name in FILES:
        shown(page, name, LOOKUPS[name][-1])
        assert page.look("boxes", ".ps-stage")[0]["bottom"] <= 640, name


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_readable(page: Page, dark: bool) -> None:
    page.dark(dark)
    for name in FILES:
        for step in (LOOKUPS[name][-1], len(FILES[name][1]) - 1):
            shown(page, name, step)
            page.key("ARROW_RIGHT")
            assert hard_to_read(page) == [], (name, step)
    page.shot(f"groups-{'dark' if dark else 'light'}")


def test_in_a_large_pool_signs_stand_for_letters(page: Page) -> None:
    page.size(1400, 900)
    shown(page, "many", 30)
    kinds = page.js("return document.querySelectorAll('.ps-cell .kind').length")
    state = page.state()
    own = {b for name, ids, *_ in state["tables"] for b in ids if not name.endswith("@0")} - {0}
    assert kinds == len(own), "all but full attention"
    assert "W1" in page.js(TEXT), "beside the lanes"
