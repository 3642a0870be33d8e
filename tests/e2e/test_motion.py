"""What a step moves is seen on its way: briefly, never in the way, and only where it is wanted."""

import pytest

from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_geometry import shared
from tests.e2e.test_layout import rows

MARKUP = "return document.querySelector('.ps-stage').outerHTML"
GHOSTS = "return document.querySelectorAll('.ps-ghosts > *').length"


@pytest.fixture
def moving(page: Page) -> Page:
    """Twelve blocks: 3 fork, 4 append with a copy, 5 swap out, 6 swap in, 7 free (events)."""
    page.moving()
    return page.show(scenes.small())


@pytest.mark.parametrize(
    ("step", "ghosts"),
    [
        (0, 2 + 5),  # two blocks leave the free list, five tokens appear
        (3, 0),  # a fork moves nothing
        (
            4,
            1 + 1 + 1 + 1,
        ),  # a block is taken, another is carried into it, a token; what was before
        (5, 1 + 1 + 1 + 1),  # taken on the CPU, carried there, and given back here; what was before
        (7, 1),  # the last one drops onto its list: the others are shared
    ],
)
def test_each_step_moves_what_it_moves(moving: Page, step: int, ghosts: int) -> None:
    moving.go(step)
    assert moving.js(GHOSTS) == 0, "going to a step moves nothing"
    moving.key("ARROW_RIGHT")
    took = moving.look("hold")
    assert moving.js(GHOSTS) == ghosts
    assert all(each <= (620 if step == 4 else 400) for each in took), took
    assert moving.step == step + 1, "the step is made at once"
    assert moving.console() == []


def test_a_block_goes_from_the_list_to_its_table(moving: Page) -> None:
    moving.key("ARROW_RIGHT")
    begin, end, _ = moving.look("ends", ".ps-stage")
    label = moving.look("boxes", ".ps-stage text", "GPU free list")[0]
    head = moving.look("boxes", ".ps-stage text", "Block table")[0]
    assert begin[0] > label["right"]
    assert abs(begin[1] - label["y"]) < 8, "it begins in its list"
    assert head["left"] - 5 < end[0] < head["right"] + 5, "it ends in the block table"
    assert end[1] < begin[1]


def copied() -> tuple[int, int]:
    """From where the copy of the small run goes, and to where."""
    ((source, target),) = (
        (e.block, e.to) for event in scenes.small() for e in event.effects if e.kind == "copy"
    )
    return source, target


def test_a_copy_carries_what_was_there_and_then_is_written(moving: Page) -> None:
    moving.go(4)
    before = [moving.look("words", block) for block in copied()]
    drawn = [text.text for text in moving.all(".under.texts text")]
    moving.key("ARROW_RIGHT")
    moving.look("toTheBegin")
    carried, seen = moving.look("carried")
    assert carried == [["15"]], "nothing that is written in this step, no number, no owner"
    assert seen == before, "until it has arrived both blocks look as before"
    tables = [text.text for text in moving.all(".past .texts text")]
    assert tables == drawn, "and so do the tables"
    flashes = moving.js("""
        const of = (css) => document.querySelector(css).getAnimations()[0].effect.getTiming();
        return [of('.flash').delay, of('.ps-ghosts > .whole').duration]""")
    assert flashes[0] >= flashes[1] > 0, "it is written when the copy has arrived"


def test_a_copy_is_carried_from_block_to_block(moving: Page) -> None:
    source_id, target_id = copied()
    moving.go(4)
    moving.key("ARROW_RIGHT")
    moving.js("document.querySelectorAll('.ps-ghosts > :not(.whole)').forEach((g) => g.remove())")
    begin, end, target = moving.look("ends", f'.ps-cell[data-block="{target_id}"] .edge')
    source = moving.look("middle", moving.one(f'.ps-cell[data-block="{source_id}"] .edge'))
    assert begin == pytest.approx(source, abs=6)
    assert end == pytest.approx(target, abs=6)


def test_keys_skip_it_and_it_ends_by_itself(moving: Page) -> None:
    moving.key("ARROW_RIGHT")
    moving.look("hold")
    moving.key("ARROW_RIGHT")
    assert moving.step == 2
    moving.until(f"{GHOSTS} === 0")
    moving.go(4)
    moving.key("ARROW_RIGHT")
    moving.look("hold")
    moving.js("pagesimPlayer.goto(2)")
    assert moving.js(GHOSTS) == 0, "scrubbing has none"


def test_reduced_motion_is_none(moving: Page) -> None:
    moving.still()
    moving.key("ARROW_RIGHT")
    assert moving.js(GHOSTS) == 0
    assert moving.step == 1


@pytest.mark.parametrize("make", [shared, rows, scenes.scheduled])
def test_the_picture_is_the_same_with_motion_and_without(page: Page, make: object) -> None:
    run = make()  # type: ignore[operator]
    page.show(run)
    for step in range(1, min(len(run), 12) + 1):
        page.key("ARROW_RIGHT")
        page.until(f"{GHOSTS} === 0")
        moved = page.js(MARKUP)
        page.js("pagesimPlayer.goto(0); pagesimPlayer.goto(arguments[0])", step)
        assert page.js(MARKUP) == moved, step
    assert page.console() == []


def test_what_a_batch_writes_is_played_at_once(page: Page) -> None:
    """Its sequences do not write one after another, as their events stand in the file."""
    run = scenes.scheduled()
    kinds = [(event.kind, [effect.kind for effect in event.effects]) for event in run]
    again = [
        i + 1
        for i in range(len(run) - 1)
        if kinds[i] == kinds[i + 1] == ("append_slots", ["write"])
    ]
    assert again, "two sequences of one batch write"
    page.show(run)
    page.js("""
        window.seen = [];
        const root = document.querySelector('.pagesim-player');
        const caption = document.querySelector('.ps-caption');
        new MutationObserver(() => seen.push([pagesimPlayer.step, caption.textContent]))
          .observe(root, {attributeFilter: ['data-step']});""")
    page.click("speed-3")
    page.click("play")
    page.until(f"return pagesimPlayer.step === {len(run)}")
    seen = dict(page.js("return seen"))
    assert not set(again) & seen.keys()
    assert any("write: one batch" in caption for caption in seen.values())
    page.js("pagesimPlayer.goto(arguments[0])", again[0])
    assert page.step == again[0], "by hand each event is reached"
