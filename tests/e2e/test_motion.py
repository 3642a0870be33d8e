"""A step is played in beats: what each of them shows, both ways, and where none is wanted."""

from typing import Any

import pytest

from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_geometry import shared
from tests.e2e.test_layout import rows
from tests.e2e.test_v1 import served

COW, SWAP_OUT, SWAP_IN, FREE = 5, 6, 7, 8  # the steps of the small run
MARKUP = "return document.querySelector('.ps-stage').outerHTML"


@pytest.fixture
def moving(page: Page) -> Page:
    """Twelve blocks: 3 fork, 4 append with a copy, 5 swap out, 6 swap in, 7 free (events)."""
    page.moving()
    return page.show(scenes.small())


def beats(page: Page) -> list[str]:
    return page.js("return pagesimPlayer.beats")


def words(page: Page, *blocks: int) -> list[list[str]]:
    return [page.look("words", block) for block in blocks]


def entries(page: Page) -> list[str]:
    """The numbers in the block tables, from top to bottom."""
    left, right = (
        page.look("boxes", ".ps-stage text", name)[0]["x"] for name in ("block", "filled")
    )
    texts = page.look("boxes", ".ps-stage .under.texts text")
    column = [t for t in texts if abs(t["x"] - left) < min(abs(t["x"] - right), 9)]
    return [t["says"] for t in sorted(column, key=lambda t: t["y"])]


def queue(page: Page) -> list[str]:
    return page.look("row", "GPU free list")[:2]


def test_a_copy_on_write_happens_in_order(moving: Page) -> None:
    moving.go(COW)
    assert beats(moving) == ["take", "copy", "table", "write"]
    seen = []
    for number, name in enumerate(beats(moving)):
        assert moving.look("beat", number) == f"{name} {number + 1}/4"
        shared_by, copied = words(moving, 1, 3)
        entry = entries(moving)[1]
        seen.append((queue(moving)[0], "15" in copied, entry, shared_by[-1], "16" in copied))
    assert seen == [
        ("3", False, "1", "s0 s2", False),
        ("4", False, "1", "s0 s2", False),  # taken, but empty
        ("4", True, "1", "s0 s2", False),  # filled, but no table knows it
        ("4", True, "3", "s2", False),  # the table's, but nothing is written
    ]
    moving.go(COW)
    assert words(moving, 3)[0][:3] == ["3", "15", "16"]


def test_what_a_copy_on_write_moves(moving: Page) -> None:
    moving.go(COW)
    moving.look("beat", 0, False, 0.0)
    ((text, *begin),) = moving.look("ghosts")
    assert (text, queue(moving)[0]) == ("3", "3")
    chip = min(moving.look("boxes", ".under.texts text", "3"), key=lambda t: -t["y"])
    assert begin == pytest.approx([chip["x"], chip["y"]], abs=4), "it leaves its place in the list"
    moving.look("beat", 0, False, 1.0)
    number = moving.look("boxes", '.ps-cell[data-block="3"] text')[0]
    assert moving.look("ghosts")[0][1:] == pytest.approx([number["x"], number["y"]], abs=6)

    seen = []
    source, target = (moving.one(f'.ps-cell[data-block="{block}"] .edge') for block in (1, 3))
    for part in (0.0, 0.4, 0.9, 1.0):
        moving.look("beat", 1, False, part)
        here = moving.look("middle", moving.one(".ps-ghosts .outline"))
        ends = [moving.look("middle", node) for node in (source, target)]
        at = [k for k, end in enumerate(ends) if here == pytest.approx(end, abs=1)]
        opacity = "return +getComputedStyle(document.querySelector('.ps-ghosts g g')).opacity"
        seen.append((at, moving.js(opacity)))
    assert seen[:2] == [([0], 0), ([], 0)], "an outline leaves"
    assert [at for at, _ in seen[2:]] == [[1], [1]] and 0 < seen[2][1] < seen[3][1] == 1, "it fills"
    carried = moving.js("""return [...document.querySelectorAll('.ps-ghosts g g path')]
        .map((path) => path.getAttribute('fill')).filter((fill) => fill.startsWith('#'))""")
    assert len(set(carried)) == 2, "in the colours of both owners"
    assert moving.js("return document.querySelector('.ps-ghosts g g').textContent") == "15"

    moving.look("beat", 3)
    way, count, *both = [text for text, *_ in moving.look("ghosts")]
    assert (way, count) == ("", "2"), "the table leads to the block, and counts"
    assert both == ["16", "16"], "for the sequence, and in the pool"


@pytest.mark.parametrize("back", [False, True])
def test_a_word_comes_to_its_sequence_and_goes_through_the_table(
    moving: Page, *, back: bool
) -> None:
    moving.go(COW)
    there = """
        const value = (css, key) => [...document.querySelectorAll(`.ps-ghosts ${css}`)]
          .map((one) => parseFloat(getComputedStyle(one)[key]));
        const [, ...seen] = value('.ghost', 'opacity');
        return [...seen, ...value('.growing', 'strokeDashoffset')];"""
    seen = []
    for part in (0.22, 0.5, 0.7, 1.0):
        moving.look("beat", 3, back, 1 - part if back else part)
        count, row, pool, way = moving.js(there)
        seen.append((row > 0, way < 1, pool > 0, (count > 0) is not back))
    assert seen == [
        (True, *rest)
        for rest in ((False,) * 3, (True, False, False), (True, True, False), (True,) * 3)
    ]


def test_the_wire_swings(moving: Page) -> None:
    moving.go(COW)
    path = "return [...document.querySelectorAll('.under .wire')].map((w) => getComputedStyle(w).d)"
    moving.look("beat", 2, False, 0.0)
    begin = moving.js(path)
    moving.look("beat", 2, False, 0.5)
    half = moving.js(path)
    moving.look("beat", 2, False, 1.0)
    end = moving.js(path)
    moving.go(COW)
    (changed,) = (k for k in range(len(begin)) if begin[k] != end[k])
    assert end[changed] in moving.js(path)
    assert half[changed] not in (begin[changed], end[changed])


@pytest.mark.parametrize("step", [SWAP_OUT, SWAP_IN])
def test_a_swap_happens_in_order(moving: Page, step: int) -> None:
    source, target = ("2", "12") if step == SWAP_OUT else ("12", "2")
    moving.go(step - 1)
    frees = moving.js("return pagesimPlayer.state().refs.length")
    moving.go(step)
    assert beats(moving) == ["take", "copy", "table", "free"]
    seen = []
    for number in range(4):
        moving.look("beat", number)
        filled = [("21" in each) for each in words(moving, int(source), int(target))]
        seen.append((*filled, entries(moving)[2]))
    assert seen == [
        (True, False, source),
        (True, False, source),
        (True, True, source),
        (True, True, target),
    ]
    moving.go(step)
    assert ["21" in each for each in words(moving, int(source), int(target))] == [False, True]
    assert len(moving.state()["refs"]) == frees


def test_a_block_goes_to_its_table_and_comes_back(moving: Page) -> None:
    moving.go(1)
    assert beats(moving) == ["take", "write"]
    moving.look("beat", 0, False, 1.0)
    head = moving.look("boxes", ".ps-stage text", "Block table")[0]
    assert all(head["left"] - 5 < x < head["right"] + 5 for _, x, _ in moving.look("ghosts"))
    assert words(moving, 0, 1) == [["0"], ["1"]], "nothing is written yet"
    moving.look("beat", 1)
    falling = sorted(text for text, *_ in moving.look("ghosts") if len(text) == 2)
    assert falling == [f"{i}" for i in range(11, 16) for _ in "ab"], "in the table and the pool"
    moving.go(FREE)
    assert beats(moving) == ["free"]
    moving.look("beat", 0, False, 1.0)
    label = moving.look("boxes", ".ps-stage text", "GPU free list")[0]
    for _, x, y in moving.look("ghosts"):
        assert x > label["right"] and label["top"] - 20 < y < label["bottom"]


@pytest.mark.parametrize(("step", "number"), [(1, 0), (COW, 0), (SWAP_OUT, 3), (FREE, 0)])
def test_nothing_is_carried_over_words(moving: Page, step: int, number: int) -> None:
    moving.go(step)
    for back in (False, True):
        assert moving.look("crossedOnTheWay", number, back) == []


def test_a_hit_and_a_request_on_their_way(page: Page) -> None:
    run = served((9, 8), (7, 6), pool=6, steps=12)
    at = run.find(kind="resume")[0]
    page.show(run, at + 1)
    assert beats(page) == ["evict", "take", "write", "queue"]
    page.look("beat", 1, False, 0.0)
    hit = next(e.block for e in run[at].effects if e.kind == "hit")
    assert f"{hit}" in [text for text, *_ in page.look("ghosts")]
    for number in range(4):
        page.look("beat", number)
        assert page.look("row", "waiting") == ["b \u21ba"]
        assert page.look("row", "running") == ["empty"]
        assert ("unused" in words(page, 3)[0]) == (number == 0), "forgotten, then taken"
    (chip,) = page.look("ghosts")
    assert chip[0] == "b"
    page.go(at + 1)
    assert page.look("row", "waiting") == ["empty"]


@pytest.mark.parametrize("make", [scenes.small, rows, scenes.scheduled])
def test_each_beat_ends_as_the_next_begins(page: Page, make: Any) -> None:
    """And backwards: what is under the ghosts is what was true before, or after."""
    run = make()
    page.show(run)
    for step in range(1, min(len(run), 14) + 1):
        page.go(step)
        shown = page.look("under")
        if not beats(page):
            continue
        for number in range(len(beats(page))):
            page.look("beat", number, True)
            after = page.look("under")
            if number + 1 < len(beats(page)):
                page.look("beat", number + 1)
                assert page.look("under") == after, (step, number)
        assert after[0] == shown[0] and after[1] == shown[1], step
        page.look("beat", 0)
        before = page.look("under")
        page.go(step - 1)
        # The picture before has frames and signs of its own step.
        assert page.look("under")[0] == before[0], step
    assert page.console() == []


def test_a_button_plays_the_beats(moving: Page) -> None:
    moving.go(COW - 1)
    assert moving.look("beatAfter", "next") == "take 1/4"
    assert moving.step == COW, "the step is made at once"
    moving.until("return !document.querySelector('.pagesim-player').dataset.beat")
    markup = moving.js(MARKUP)
    assert moving.look("beatAfter", "prev") == "write 4/4", "backwards"
    moving.until("return !document.querySelector('.pagesim-player').dataset.beat")
    assert moving.step == COW - 1
    moving.js("pagesimPlayer.goto(arguments[0])", COW)
    assert moving.data("beat") is None, "to go somewhere moves nothing"
    assert moving.js(MARKUP) == markup


BETWEEN = {
    "slots": "document.querySelector('[data-action=slots]').click()",
    "save": "document.querySelector('[data-action=save-svg]').click()",
    "go": "pagesimPlayer.goto(pagesimPlayer.step)",
    "follow": "document.querySelector('.ps-cell .edge')"
    ".dispatchEvent(new MouseEvent('click', { bubbles: true }))",
    "pause": "for (const i of [1, 2]) document.querySelector('[data-action=play]').click()",
}


@pytest.mark.parametrize("way", ["next", "prev"])
def test_whatever_comes_between_ends_it(moving: Page, way: str) -> None:
    for what, script in BETWEEN.items():
        moving.go(COW - 1 if way == "next" else COW)
        assert moving.look("beatAfter", way) is not None
        moving.js(script)
        assert moving.data("beat") is None, what
        markup = moving.js(MARKUP)
        moving.js("pagesimPlayer.goto(pagesimPlayer.step)")
        assert moving.js(MARKUP) == markup, what


def test_keys_do_not_wait(moving: Page) -> None:
    moving.key("ARROW_RIGHT")
    moving.key("ARROW_RIGHT")
    assert moving.step == 2


def test_reduced_motion_is_none(moving: Page) -> None:
    moving.still()
    moving.go(COW - 1)
    for way in ("next", "prev"):
        assert moving.look("beatAfter", way) is None
        assert moving.js("return document.querySelectorAll('.ps-ghosts > *').length") == 0
    assert moving.step == COW - 1


def test_a_batch_stays_one_step_and_ends_at_once(page: Page) -> None:
    page.moving()
    run = scenes.scheduled(8)
    ends = [at + 1 for at, event in enumerate(run) if event.kind == "schedule"]
    page.show(run)
    page.js("""
        window.seen = [];
        const root = document.querySelector('.pagesim-player');
        const note = () => seen.push([+root.dataset.step, root.dataset.beat ?? null]);
        const attributeFilter = ['data-step', 'data-beat'];
        new MutationObserver(note).observe(root, { attributeFilter });""")
    page.click("speed-2")
    page.key("SPACE")
    page.until("return seen.filter(([step]) => step >= arguments[0]).length", ends[1])
    page.key("SPACE")
    seen = page.js("return seen")
    assert {step for step, _ in seen} <= {0, *ends}
    assert {beat.split("/")[1] for _, beat in seen if beat} <= {"1", "2"}, "at this pace"
    assert page.data("beat") is None, "a pause ends the step"


@pytest.mark.parametrize("make", [shared, rows, scenes.scheduled])
def test_the_picture_is_the_same_with_motion_and_without(page: Page, make: Any) -> None:
    run = make()
    page.moving()
    page.show(run)
    for step in range(1, min(len(run), 12) + 1):
        page.look("beatAfter", "next")
        page.until("document.getAnimations().forEach((one) => one.finish());"
                   "return !document.querySelector('.pagesim-player').dataset.beat")  # fmt: skip
        moved = page.js(MARKUP)
        page.js("pagesimPlayer.goto(0); pagesimPlayer.goto(arguments[0])", step)
        assert page.js(MARKUP) == moved, step
    assert page.console() == []


CHIPS = """
return [...document.querySelectorAll('.ps-changes [data-kind]')]
  .filter((node) => getComputedStyle(node).visibility === 'visible')
  .map((node) => node.dataset.kind);
"""


def test_the_caption_tells_a_change_with_its_beat(moving: Page) -> None:
    moving.go(COW)
    whole = moving.js(CHIPS)
    assert set(whole) == {"take", "unshare", "copy", "write"}
    seen = []
    for number, _ in enumerate(beats(moving)):
        moving.look("beat", number)
        seen.append(set(moving.js(CHIPS)))
    assert seen == [{"take"}, {"take", "copy"}, {"take", "copy", "unshare"}, set(whole)]
    moving.look("beat", 0, True)
    assert moving.js(CHIPS) == whole, "on the way back they are another step's"
    moving.go(COW)
    assert moving.js(CHIPS) == whole


def test_an_arrow_leads_from_words_to_words(moving: Page) -> None:
    moving.go(COW)
    arrow, *slots = (
        moving.js(f"const b = {one}.getBoundingClientRect(); return [b.left, b.right]")
        for one in (
            "document.querySelector('.ps-stage .arrow')",
            *(f"document.querySelector('[data-block=\"{id_}\"] .word')" for id_ in (1, 3)),
        )
    )
    for left, right in slots:
        assert left - 4 <= arrow[0] <= right, "it begins and ends at the only word that is copied"
