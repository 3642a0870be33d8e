"""Many sequences: only those of the step, and those that a reader means, have colours."""

import re

import pagesim
from pagesim.player.colors import color_of
from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_more import crowd
from tests.e2e.test_pair import mounted
from tests.e2e.test_themes import contrast
from tests.e2e.test_when import served

STEP = 40
FILLS = """
return Object.fromEntries([...document.querySelectorAll('.ps-cell')].flatMap((cell) => {
  const own = cell.querySelector('.own');
  return own ? [[cell.dataset.block, getComputedStyle(own).fill]] : [];
}));"""
LANES = """
return [...document.querySelectorAll('.ps-curve .runs')].map((lane) => lane.getAttribute('fill'))
"""
MAPS = """
return [...document.querySelectorAll('.ps-pool .share-kept')].map((p) => p.getAttribute('fill'))
"""
CHIPS = """
return [...document.querySelectorAll('.ps-stage .under rect[width="11"][height="16"]')]
  .map((chip) => chip.getAttribute('fill')).filter((fill) => !fill.startsWith('url'));
"""
NAMES = "return [...document.querySelectorAll('.ps-curve text.end')].map((t) => t.textContent)"


def rgb(color: str) -> str:
    """The same colour as a browser names it."""
    return f"rgb({', '.join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))})"


def colored(page: Page, run: pagesim.Timeline) -> set[object]:
    """The sequences whose blocks all have their own colour; no other has a block in one."""
    fills = page.js(FILLS)
    found: set[object] = set()
    for place, table in enumerate(run.at(page.step).tables.values()):
        own = {fills[str(block)] == rgb(color_of(place)) for block in table.block_ids}
        assert len(own) == 1, place
        if own == {True}:
            found.add(place)
    return found


def test_the_sequence_of_the_step_has_its_colour(page: Page) -> None:
    run = crowd()
    page.show(run, STEP)
    assert colored(page, run) == {STEP - 1}
    page.go(STEP + 3)
    assert colored(page, run) == {STEP + 2}
    assert page.console() == []


def test_who_is_pointed_at_or_followed_has_its_colour(page: Page) -> None:
    run = crowd()
    page.show(run, STEP)
    (block, *_) = run.at(STEP).tables[5].block_ids
    page.look("pointAt", page.one(f'.ps-cell[data-block="{block}"] .edge'), None, 5)
    assert colored(page, run) == {5, STEP - 1}
    assert color_of(5) in page.js(LANES) and "s5" in page.js(NAMES)
    page.choose(block)
    page.go(STEP + 1)
    assert {5, STEP} <= colored(page, run)
    page.key("ESCAPE")
    page.look("pointAt", page.one(".ps-stage .heading"), None, 5)
    assert colored(page, run) == {STEP}


def test_who_waits_and_runs_is_as_grey_as_the_pool(page: Page) -> None:
    """A colour in a queue that no block has would say nothing."""
    run = served(pool=2048, count=30)
    page.show(run, run.find(kind="append_slots")[40] + 1)
    fills = page.js(CHIPS)
    count, *names, more = page.look("row", "running")
    assert len(names) > 1 and len(names) + int(more) == int(count)
    assert len(fills) >= len(names), "each name has its chip"
    assert sum(fill != "var(--crowd)" for fill in fills) == 1, "who writes"


def test_how_it_stands_comes_first_and_a_phone_shows_the_whole_pool(page: Page) -> None:
    page.size(400, 860)
    page.show(served(pool=4096, count=30), 60)
    (told,), (picture,) = (page.look("boxes", css) for css in (".ps-told", ".ps-picture"))
    assert told["bottom"] - told["top"] > 20 and told["bottom"] <= picture["top"]
    cells = page.look("boxes", ".ps-cell .edge")
    assert len(cells) == 256
    assert cells[-1]["bottom"] - cells[0]["top"] < 400


def test_few_sequences_have_all_their_colours(page: Page) -> None:
    run = scenes.small()
    page.show(run, 3)
    assert page.all(".calm") == []
    page.show(served())
    assert "var(--crowd)" not in page.js(LANES)


def test_a_few_tables_stand_for_all(page: Page) -> None:
    """The pool shows the rest; who is of this step is among them."""
    run = crowd()
    page.show(run, STEP)
    names = [one["says"] for one in page.look("boxes", ".ps-stage text.name")]
    assert len(names) <= 5 < len(run.at(STEP).tables)
    assert f"s{STEP - 1}" in names


def test_the_others_are_one_grey_that_is_seen(page: Page) -> None:
    both = pagesim.compare(served(pool=2048, count=30), served("max", pool=2048, count=30))
    mounted(page, both).js("pagesimPair.goto(Math.round(pagesimPair.steps / 2))")
    assert set(page.js(LANES.replace(".ps-curve", ".ps-race"))) == {"var(--crowd)"}
    assert set(page.js(MAPS)) == {"var(--crowd)"}
    style = page.js("return document.querySelector('style').textContent")
    for paper, grey in re.findall(r"--paper: ?(#\w+);.*?--crowd: ?(#\w+)", style):
        ground, ink = ([*bytes.fromhex(c[1:] * (6 // len(c[1:])))] for c in (paper, grey))
        assert contrast(ground, ink) >= 3, grey
