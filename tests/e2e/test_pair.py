"""Two runs linked: stepped together, what differs is marked, one keyboard for both."""

from collections.abc import Iterator
from typing import Any

import pytest

import pagesim
from pagesim.timeline.pair import Compared
from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_layout import rows
from tests.timeline.scenes import told


def mounted(page: Page, pair: Compared, width: int = 1400) -> Page:
    """The page of a pair, where it opens."""
    page.size(width, 900)
    page.show(pair, address="")
    page.wait('.pagesim-pair[data-mounted="true"]')
    return page


def shown(page: Page, pair: Compared, width: int = 1400) -> Page:
    """The same, block by block."""
    mounted(page, pair, width)
    page.unfold()
    return page


def opened(page: Page, one: pagesim.Timeline, other: pagesim.Timeline, width: int = 1400) -> None:
    """The page of two runs, at the beginning."""
    pair = pagesim.compare(one, other, titles=("one", "other"))
    shown(page, pair, width).click("pair-first")


def every_step(page: Page, stride: int = 1) -> Iterator[int]:
    """Go through the steps of a pair."""
    for step in range(0, int(page.js("return pagesimPair.steps")) + 1, stride):
        page.js("pagesimPair.goto(arguments[0])", step)
        yield step


def test_by_calls_of_schedule(page: Page) -> None:
    one, other = scenes.scheduled(), scenes.scheduled(preemption_mode="swap")
    ends = [[i + 1 for i, e in enumerate(run) if e.kind == "schedule"] for run in (one, other)]
    opened(page, one, other)
    for k in range(1, max(map(len, ends)) + 1):
        page.key("ARROW_RIGHT", "body")
        assert page.steps == [steps[min(k, len(steps)) - 1] for steps in ends], k
    assert page.console() == []


def test_what_differs_is_marked_and_told(page: Page) -> None:
    one, other = scenes.scheduled(), scenes.scheduled(preemption_mode="swap")
    opened(page, one, other)
    count = 0
    for step in every_step(page):
        places = page.steps
        tables = [run.at(at).tables for run, at in zip((one, other), places, strict=True)]
        left, right = (
            {n: (len(t.block_ids), len(t.token_ids)) for n, t in each.items()} for each in tables
        )
        differ = {n for n in left.keys() | right.keys() if left.get(n) != right.get(n)}
        words = " ".join(page.js("return pagesimPair.differences"))
        for name in differ:
            assert f"s{name}: " in words, step
        signed = page.look("signed")
        assert signed == [len(differ & tables[i].keys()) for i in (0, 1)] or not differ, step
        count += bool(differ)
    assert count, "recomputing and swapping do differ"


def test_the_differences_are_all_of_them_and_true(page: Page) -> None:
    """V1's null block cannot be held: V0's pool of the same blocks has one less."""
    pools = (("v0", 7), ("v1", 8))
    runs = [told(range(9), gpu_blocks=blocks, engine=engine) for engine, blocks in pools]
    opened(page, *runs)
    page.click("pair-last")
    held = [row[-1] for row in page.look("lines")[1:]]
    assert held == ["3 of 7"] * 2
    assert not any("memory held" in text for text in page.js("return pagesimPair.differences"))
    shares = [one.text.split("\n")[0] for one in page.all(".ps-share")]
    assert len({text.split("free ")[1][:6] for text in shares}) == 1
    for step in every_step(page):
        marked = page.all(".ps-lines .ps-differs")
        words = page.text(".ps-differences")
        assert ("do not differ" in words) == (not marked and "\u2260" not in words), step
        tables = [run.at(step).tables for run in runs]
        same = all(t.block_ids == tables[1][name].block_ids for name, t in tables[0].items())
        assert same or "do not differ" not in words, step


def test_settings_that_differ_are_told(page: Page) -> None:
    opened(page, *(told(range(9), caching=caching, engine="v1") for caching in (False, True)))
    for step in every_step(page):
        (words,) = page.js("return pagesimPair.differences")
        assert words.startswith("hits: no caching | "), step


def test_page_keys_move_the_slider_forward_too(page: Page) -> None:
    run = scenes.scheduled(40)
    opened(page, run, run[:60])
    steps = int(page.js("return pagesimPair.steps"))
    for css in ("body", ".pagesim-pair .ps-slider"):
        page.js("pagesimPair.goto(0)")
        page.key("PAGE_DOWN", css)
        assert page.one(".pagesim-pair").get_attribute("data-step") == str(min(50, steps)), css
        page.key("PAGE_UP", css)
        assert page.one(".pagesim-pair").get_attribute("data-step") == "0", css


def test_a_run_that_is_over_stays_at_its_end(page: Page) -> None:
    run = scenes.small()
    opened(page, run, run[:4])
    page.key("END", "body")
    assert page.steps == [8, 4]
    assert page.js("return location.hash") == "", "an address is that of one run"
    page.click("pair-prev")
    assert page.steps == [7, 4]
    page.click("pair-first")
    assert page.steps == [0, 0]
    page.click("pair-play")
    page.until("return pagesimPlayers[0].step > 1")
    page.click("pair-play")
    assert page.console() == []


def test_the_same_run_twice_has_no_difference(page: Page) -> None:
    opened(page, scenes.small(), scenes.small())
    for _ in every_step(page):
        assert page.text(".ps-differences") == "The two do not differ."


def test_it_opens_where_there_is_something_to_see(page: Page) -> None:
    runs = scenes.scheduled(), scenes.scheduled(preemption_mode="swap")
    shown(page, pagesim.compare(*runs))
    assert page.one(".pagesim-pair").get_attribute("data-step") == "1"
    assert page.steps == [run.find(kind="schedule")[0] + 1 for run in runs]


@pytest.mark.parametrize("width", [400, 1000, 1920])
def test_nothing_overlaps(page: Page, width: int) -> None:
    opened(page, scenes.scheduled(), rows(), width)
    for step in every_step(page, 3):
        for number in (0, 1):
            assert page.look("overlaps", number) == [], (step, number)
    assert page.js("return document.documentElement.scrollWidth") <= width


def test_a_damaged_file_leaves_the_other_alive(page: Page) -> None:
    opened(page, scenes.small(), scenes.small())
    text = (page.files / "run.html").read_text()
    begin = text.rindex('<template class="pagesim-timeline">') + 35
    (page.files / "run.html").write_text(text[:begin] + "AAAA" + text[begin + 400 :])
    page.open(page.files / "run.html", "")
    page.wait('.pagesim-pair[data-mounted="true"]')
    ready = [player.get_attribute("data-ready") for player in page.all(".pagesim-player")]
    assert ready == ["true", "error"]


def both() -> tuple[pagesim.Simulation, pagesim.Simulation]:
    """One workload, every other prompt begins alike: V0 preempts where V1 finds its blocks."""
    beginnings = [[*range(12)], [*range(100, 112)]]
    tokens = [[*beginnings[i % 2], *range(1000 * i, 1000 * i + 2 + 3 * (i % 3))] for i in range(9)]
    requests = [
        pagesim.workload.Request(f"r{i}", 0.02 * i, len(own), 6 + 4 * (i % 3), token_ids=(*own,))
        for i, own in enumerate(tokens)
    ]
    given: dict[str, Any] = {"block_size": 4, "record": True, "progress": False}
    v0 = pagesim.simulate(requests, policy="paged", pool=96, **given)
    return v0, pagesim.simulate(requests, policy="v1", pool=100, **given)


HEAD = ["", "schedule()", "time", "runs", "waits", "hits", "preemptions", "blocks held"]


def expected_lines(run: pagesim.Timeline, at: int, clock: list[float]) -> list[str]:
    """The line of a run at a step, by Python."""
    state, events = run.at(at), list(run[:at])
    ended = sum(event.kind == "schedule" for event in events)
    names = [f"s{state.requests[request]}" for request in state.queues["running"]]
    hits = sum(e.count for event in events for e in event.effects if e.kind == "hit")
    return [
        str(ended),
        f"{clock[ended - 1] if ended else 0:.2f} s",
        f"{len(names)}: {' '.join(names)}" if names else "nothing",
        str(len(state.queues["waiting"])),
        f"{hits} tokens" if state.caching else "no caching",
        str(sum(event.kind == "preempt" for event in events)),
        f"{sum(count > 0 for count in state.ref_counts.values())} of 24",
    ]


def test_v0_and_v1_a_line_for_each(page: Page) -> None:
    pair = pagesim.compare(*both(), titles=("V0", "V1"))
    clocks = [list(run.notes.clock) for run in pair.runs]
    shown(page, pair)
    for step in every_step(page, 4):
        lines = map(expected_lines, pair.runs, page.steps, clocks)
        expected = [[title, *line] for title, line in zip(pair.titles, lines, strict=True)]
        assert page.look("lines") == [HEAD, *expected], step
    assert expected[1][5] != "0 tokens" and expected[0][6] != "0", "there is something to count"
    assert "no caching" in [cell.text for cell in page.all(".ps-differs")]
    assert page.console() == []


def test_the_pools_of_both_stand_side_by_side(page: Page) -> None:
    """Whatever their captions say: one may be a line longer."""
    shown(page, pagesim.compare(*both(), titles=("V0", "V1")), 1200)
    heights = "return [...document.querySelectorAll('CSS')].map((n) => Math.round(n.getBBOX))"
    measure = heights.replace("getBBOX", "getBoundingClientRect().top")
    alike = set()
    for step in every_step(page):
        (one, other) = page.js(measure.replace("CSS", ".ps-stage"))
        assert one == other, step
        lines = page.js(measure.replace("CSS", ".ps-caption").replace(".top", ".height"))
        alike.add(lines[0] == lines[1])
    assert alike == {True, False}, "some captions are longer"


def test_together_by_the_clock(page: Page) -> None:
    pair = pagesim.compare(*both())
    shown(page, pair)
    page.click("pair-by-1")
    assert page.one('[data-action="pair-by-1"]').get_attribute("aria-pressed") == "true"
    clocks = [run.notes.clock for run in pair.runs]
    times = sorted({*clocks[0], *clocks[1]})
    for step in range(1, len(times) + 1, 5):
        page.js("pagesimPair.goto(arguments[0])", step)
        done = [sum(end <= times[step - 1] for end in clock) for clock in clocks]
        assert [row[1] for row in page.look("lines")[1:]] == [str(count) for count in done], step
    here = page.steps[0]
    page.click("pair-by-0")
    assert page.steps[0] == here, "the first run stays where it is"
    assert page.text(".ps-place").startswith("schedule() ")


def test_runs_without_a_clock_have_none(page: Page) -> None:
    opened(page, scenes.scheduled(), scenes.scheduled(preemption_mode="swap"))
    assert page.all('[data-action="pair-by-1"]') == []
    assert "time" not in page.look("lines")[0]


@pytest.mark.parametrize("width", [400, 1400, 1920])
def test_both_are_drawn_to_one_scale(page: Page, width: int) -> None:
    """Also where one has more blocks, longer tables or more lists: all cells are as large."""
    pools = [told(range(9), gpu_blocks=7), told(*[range(17)] * 3, gpu_blocks=20, engine="v1")]
    for runs in (pools, (scenes.small(), scenes.by_chance(3, True, 60))):
        opened(page, *runs, width=width)
        page.click("pair-last")
        one, other = page.js("""
            return [...document.querySelectorAll('.ps-stage')].map((stage) => {
              const { width, height } = stage.querySelector('.edge').getBoundingClientRect();
              return [width, height, stage.viewBox.baseVal.height];
            });""")
        assert one == pytest.approx(other, abs=0.1)
        assert page.look("overlaps", 0) == page.look("overlaps", 1) == []
