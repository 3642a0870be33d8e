"""Two runs of the same requests on the same memory: a race on one clock."""

import statistics
from typing import Any

import pytest
from selenium.webdriver import ActionChains

import pagesim
from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_pair import mounted as shown
from tests.e2e.test_speed import SLACK
from tests.e2e.test_when import served

STEP_MS = 4
TEXTS = """
return [...document.querySelectorAll('.ps-race .ps-curve')].map((curve) =>
  [...curve.querySelectorAll('text')].map((node) =>
    [node.textContent, node.getBoundingClientRect()]));"""
# The places at which the requests of one side end, and where its marks for the other side are.
ENDS = """
return [...document.querySelectorAll('.ps-race .ps-curve')[arguments[0]].querySelectorAll('.done')]
  .map((node) => +node.getAttribute('cx'));"""
RINGS = """
const marks = document.querySelectorAll('.ps-race .ps-curve')[arguments[0]];
const ring = marks.querySelector('.chunk:not(.absent)').getAttribute('d');
return [...ring.matchAll(/M([\\d.]+)/g)].map(([, x]) => +x + 3);"""


def pair(left: str = "max", right: str = "paged", **more: Any) -> pagesim.timeline.pair.Compared:
    return pagesim.compare(served(left, **more), served(right, **more), titles=("One", "Other"))


def test_it_says_what_is_seen(page: Page) -> None:
    shown(page, pair())
    for count in ("9 requests", "256 tokens"):
        assert count in page.one(".ps-race h1").text
    sides = [side.text for side in page.all(".ps-side")]
    for title, words, said in zip(("One", "Other"), ("reserves", "16 tokens"), sides, strict=True):
        assert title in said and words in said
        assert words not in page.one(".ps-race h1").text, "it is not the same in both"
    top = page.look("boxes", ".ps-race h1")[0]["bottom"]
    assert all(bar["top"] > top for bar in page.look("boxes", ".pagesim-pair > .ps-bar"))
    (bar,) = page.look("boxes", ".pagesim-pair > .ps-bar")
    assert bar["bottom"] <= 900, "all of it can be seen at once"
    assert page.shifted() < 0.01, "its pools come with it"
    assert page.console() == []


def test_both_are_shown_at_one_time(page: Page) -> None:
    both = pair()
    shown(page, both)
    clocks = [run.notes.clock for run in both.runs]
    times = [0.0, *sorted({*clocks[0], *clocks[1]})]
    for step in range(0, len(times), 9):
        page.js("pagesimPair.goto(arguments[0])", step)
        lines = [node.text for node in page.all(".ps-score-line")]
        for run, clock, said in zip(both.runs, clocks, lines, strict=True):
            done = sum(end <= times[step] for end in clock)
            if done == len(clock):
                assert said.splitlines()[0] == f"all 9 finished at {clock[-1]:.2f} s"
                continue
            at = run.find(kind="schedule")[done - 1] + 1 if done else 0
            state = run.at(at)
            tokens = sum(
                min(t.num_slots, len(t.block_ids) * state.block_size) for t in state.tables.values()
            )
            assert said.startswith(f"{len(state.queues.running)} running"), step
            assert f" {100 * tokens / 256:.0f} % written" in said.replace("\n", " "), step
        cursors = [node.get_attribute("cx") for node in page.all(".ps-race .knob")]
        assert float(cursors[0] or 0) == pytest.approx(float(cursors[1] or 1), abs=0.2)


def test_where_memory_differs_nothing_else_is_told(page: Page) -> None:
    shown(page, pair("paged", "max"))
    assert [words.text.count(".") for words in page.all(".ps-manner")] == [1, 1]


def test_it_shows_what_v1_keeps_and_where_a_request_ends_later(page: Page) -> None:
    both = pair("paged", "v1", pool=256)
    shown(page, both)
    manners = [words.text for words in page.all(".ps-manner")]
    assert "16 tokens" in page.one(".ps-race h1").text and "16 tokens" not in "".join(manners)
    assert manners[0] != manners[1], "the difference stands beside each"
    mixed = [
        any(len({it.is_prompt for it in step.scheduled}) > 1 for step in run) for run in both.runs
    ]
    assert mixed == [False, True], "V1 alone computes prompts and answers in one batch"
    assert [words.count(".") for words in manners] == [2, 2], "and what becomes of a freed block"
    ends = [page.js(ENDS, number) for number in (0, 1)]
    rings = [page.js(RINGS, number) for number in (0, 1)]
    for own, other, found in zip(ends, ends[::-1], rings, strict=True):
        assert found == pytest.approx(
            [b for a, b in zip(own, other, strict=True) if b - a > 8], abs=1
        )
    assert any(rings)
    page.js("pagesimPair.goto(pagesimPair.steps)")
    state = both.runs[1].at(-1)
    idle = sum(not state.ref_counts.get(block) for block in state.cached)
    assert idle > 0
    share = 100 * idle / (state.num_gpu_blocks - 1)
    scores = [score.text for score in page.all(".ps-score-line")]
    assert "cached" not in scores[0]
    assert f"{share:.0f} % cached" in scores[1]
    seen = page.js("return document.querySelector('.ps-pool .idle').getAttribute('d')")
    assert seen.count("M") == idle


@pytest.mark.parametrize(("left", "right"), [("max", "paged"), ("paged", "v1"), ("max", "oracle")])
def test_a_slot_has_the_same_area_in_both(page: Page, left: str, right: str) -> None:
    more = {"v1": {"pool": 272}}
    runs = [served(policy, **more.get(policy, {})) for policy in (left, right)]
    shown(page, pagesim.compare(*runs))
    boxes = page.js("""
        return [...document.querySelectorAll('.ps-pool .cell')].map((node) => {
          const { width, height } = node.getBoundingClientRect();
          return [width, height, node.getAttribute('d').split('z').length - 1];
        });""")
    assert boxes[0][:2] == pytest.approx(boxes[1][:2], abs=2.5)
    drawn = [16 if policy in ("paged", "v1") else 1 for policy in (left, right)]
    assert [each[2] for each in boxes] == drawn, "blocks of 16 slots, or whole rows of addresses"


def test_contiguous_memory_is_a_path_for_each_request(page: Page) -> None:
    shown(page, pair())
    for step in (20, 60):
        page.js("pagesimPair.goto(arguments[0])", step)
        running = [int(line.text.split()[0]) for line in page.all(".ps-score-line")]
        paths = page.js("""
            return [...document.querySelectorAll('.ps-pool')]
              .map((node) => node.querySelectorAll('.map path').length);""")
        assert all(0 < n <= 5 * k for n, k in zip(paths, running, strict=True)), (paths, running)
        pieces = page.js("""
            return [...document.querySelector('.ps-pool').querySelectorAll('.map path')]
              .map((node) => node.getAttribute('d').split('M').length - 1);""")
        assert max(pieces) <= 2, "64 slots, at most in two rows of the picture"


def test_one_line_is_dragged_in_both(page: Page) -> None:
    both = pair()
    shown(page, both).click("pair-first")
    course = page.all(".ps-race .ps-curve")[1]
    ActionChains(page.driver).move_to_element(course).click().perform()
    step = int(page.one(".pagesim-pair").get_attribute("data-step") or 0)
    assert step > 10
    page.key("ARROW_RIGHT", ".ps-race .ps-curve")
    clocks = [run.notes.clock for run in both.runs]
    now = sorted({0.0, *clocks[0], *clocks[1]})[step]
    after = min(end for end in clocks[0] if end > now)
    course = page.one(".ps-race .ps-curve")
    assert float(course.get_attribute("aria-valuenow") or 0) == pytest.approx(after, abs=6e-4)
    page.key("HOME", ".ps-race .ps-curve")
    assert page.one(".pagesim-pair").get_attribute("data-step") == "0"


def test_it_plays_to_the_end(page: Page) -> None:
    shown(page, pair()).click("pair-first")
    page.key("SPACE", "body")
    page.until("return document.querySelector('.ps-side').dataset.over === 'true'")
    page.until("return document.querySelectorAll('[data-over=true]').length === 2")
    page.until("return !document.querySelector('[data-action=pair-play][aria-pressed=true]')")
    assert [node.text[:14] for node in page.all(".ps-score-line")] == ["all 9 finished"] * 2


@pytest.mark.parametrize(("policy", "pool"), [("max", 512), ("paged", 2048)])
def test_the_race_is_seen_alone_until_a_reader_asks_for_blocks(
    page: Page, policy: str, pool: int
) -> None:
    """Where one side has no blocks, or there are many."""
    shown(page, pagesim.compare(served(policy, pool=pool), served(pool=pool)))
    fold = page.one('[data-action="pair-fold"]')
    assert fold.get_attribute("aria-expanded") == "false"
    assert not page.one(".pagesim-player").is_displayed()
    assert page.all(".ps-stage") == [], "not even drawn"
    page.js("pagesimPair.goto(30)")
    fold.click()
    assert len(page.all(".ps-stage")) == 2
    assert page.one(".pagesim-player").is_displayed()
    assert all(step > 5 for step in page.steps), "they stand where the race stands"


@pytest.mark.parametrize("width", [360, 768, 1000, 1920])
def test_it_fits(page: Page, width: int) -> None:
    both = pair(count=30)
    shown(page, both, width)
    assert page.js("return document.documentElement.scrollWidth") <= width
    pools, courses = (page.look("boxes", css) for css in (".ps-pool", ".ps-race .ps-curve"))
    assert (pools[0]["bottom"] <= pools[1]["top"]) == (width < 788)
    assert max(pool["bottom"] for pool in pools) <= courses[0]["top"], "both memories come first"
    sizes = page.js("""
        return [...document.querySelectorAll('.ps-race text, .ps-race :is(h1, h2, span, b)')]
          .map((node) => {
            const svg = node.closest('svg'), size = parseFloat(getComputedStyle(node).fontSize);
            return size * (svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1);
          });""")
    assert min(sizes) >= 11


def test_other_pairs_are_no_race(page: Page) -> None:
    shown(page, pagesim.compare(scenes.small(), scenes.small()[:4]))
    assert page.all(".ps-race") == []
    assert page.one(".ps-course").is_displayed()


def test_a_step_of_it_is_quick(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    both = pagesim.compare(served("max", pool=2048, count=30), served(pool=2048, count=30))
    shown(page, both)
    times = page.js("""
        const times = [];
        for (let i = 0; i < pagesimPair.steps; i++) {
          const begun = performance.now();
          pagesimPair.goto(i);
          times.push(performance.now() - begun);
        }
        return times;""")
    middle = statistics.median(times)
    with capsys.disabled():
        print(f"\n    a step of a race on 2,048 slots: median {middle:.1f} ms", end="")
    assert middle <= SLACK * STEP_MS


@pytest.mark.parametrize("width", [360, 400, 740])
def test_words_of_a_narrow_race_stand_apart(page: Page, width: int) -> None:
    """One picture above the other, each with its title."""
    title = "Regions for the longest request"
    shown(page, pagesim.compare(served("max"), served("paged"), titles=(title, "Pages")), width)
    texts = page.js(TEXTS)
    for curve, name in zip(texts, (title, "Pages"), strict=True):
        ((_, mine),) = (one for one in curve if one[0] == name)
        for words, box in curve:
            apart = box["right"] < mine["left"] - 3 or box["left"] > mine["right"]
            below = box["top"] > mine["bottom"] - 3 or box["bottom"] < mine["top"] + 3
            assert words == name or apart or below, words
