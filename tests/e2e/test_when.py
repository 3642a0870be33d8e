"""Under the picture, when: life lines and memory over time, to drag and to walk through."""

from itertools import pairwise
from typing import Any

import pytest
from selenium.webdriver import ActionChains

import pagesim
from pagesim.simulation import Limits
from pagesim.workload import Request
from tests.e2e import scenes
from tests.e2e.browser import Page

WATCH = """
const root = document.querySelector('.pagesim-player');
window.seen = [];
new MutationObserver(() => seen.push(+root.dataset.step))
  .observe(root, { attributes: true, attributeFilter: ['data-step'] });
"""


def requests(count: int = 9) -> list[Request]:
    return [Request(f"r{i}", 0.01 * i, 20 + 7 * (i % 4), 9 + 8 * (i % 3)) for i in range(count)]


def served(policy: str = "paged", count: int = 9, **more: Any) -> pagesim.Timeline:
    """A simulation of a few requests on 256 slots: some wait, one at least is preempted."""
    limits = Limits(max_model_len=64)
    given: dict[str, Any] = {"pool": 256, "limits": limits, "record": True, "progress": False}
    run = pagesim.simulate(requests(count), policy=policy, **given | more).timeline
    assert run is not None
    return run


def ends_of(run: pagesim.Timeline) -> list[int]:
    """The steps behind each schedule()."""
    return [at + 1 for at in run.find(kind="schedule")]


def across(page: Page, *shares: float) -> None:
    """Press on the course at a share of its axis, and drag on to further ones."""
    course = page.one(".ps-curve")
    page.js("arguments[0].scrollIntoView({block: 'center'})", course)
    (whole,), (room, *_) = (page.look("boxes", css) for css in (".ps-curve", ".ps-curve .room"))
    where = [room["left"] + (room["right"] - room["left"]) * one - whole["x"] for one in shares]
    down = room["y"] - whole["y"]
    mouse = ActionChains(page.driver).move_to_element_with_offset(
        course, round(where[0]), round(down)
    )
    mouse.click_and_hold()
    for before, after in pairwise(where):
        mouse.move_by_offset(round(after) - round(before), 0)
    mouse.release().perform()


def test_who_waits_again_is_told_from_who_never_ran(page: Page) -> None:
    run = served()
    lost = {event.subject for event in run if event.kind == "preempt"}
    page.show(run)
    assert len(page.all(".ps-curve .waits.again")) == len(lost) > 0
    page.show(served(pool=4096))
    assert page.all(".ps-curve .waits.again") == []


def test_what_the_last_event_brings_is_seen(page: Page) -> None:
    story = pagesim.Story(gpu_blocks=8, block_size=4)
    story.arrive("one two three").write("four")
    story.arrive("five six", name="late")
    page.show(story.run)
    page.js("pagesimPlayer.goto(pagesimPlayer.steps)")
    (late,) = page.look("boxes", ".ps-curve .runs")[-1:]
    (knob,), (room, *_) = (page.look("boxes", f".ps-curve .{name}") for name in ("knob", "room"))
    assert late["right"] - late["left"] > 20 and late["right"] == pytest.approx(
        room["right"], abs=2
    )
    assert late["left"] == pytest.approx((knob["left"] + knob["right"]) / 2, abs=2)


def test_the_line_is_dragged(page: Page) -> None:
    run = served()
    page.show(run)
    last = run.notes.clock[-1]
    for share in (0.3, 0.8, 0.1):
        across(page, 0.5, share)
        done = sum(end <= share * last for end in run.notes.clock)
        nearest = [0, *ends_of(run)][max(done - 1, 0) : done + 2]
        assert page.step in nearest, share
        assert float(page.one(".ps-curve").get_attribute("aria-valuenow") or 0) == pytest.approx(
            share * last, abs=last / 40
        )
    assert page.console() == []


def test_the_keyboard_goes_by_the_unit_of_time(page: Page) -> None:
    run = served()
    ends = ends_of(run)
    page.show(run)
    for key, step in (("ARROW_RIGHT", ends[0]), ("ARROW_RIGHT", ends[1]), ("ARROW_LEFT", ends[0]),
                      ("END", len(run)), ("HOME", 0)):  # fmt: skip
        page.key(key, ".ps-curve")
        assert page.step == step, key
    page.key("PAGE_DOWN", ".ps-curve")
    assert page.step in ends[2:]
    page.key("HOME", ".ps-curve")
    page.click("unit-2")
    page.key("ARROW_RIGHT", ".ps-curve")
    assert page.step == 1, "an event"
    assert page.one(".ps-curve").get_attribute("aria-valuetext") == "event 1"


def test_the_units_a_run_has(page: Page) -> None:
    for run, names in (
        (served(), ["seconds", "schedule()", "events"]),
        (scenes.scheduled(), ["schedule()", "events"]),
    ):
        page.show(run)
        found = page.all(".ps-when-head button")
        assert [button.text for button in found] == names
        for number, button in enumerate(found):
            button.click()
            pressed = [b.get_attribute("aria-pressed") for b in page.all(".ps-when-head button")]
            assert pressed == [f"{i == number}".lower() for i in range(len(names))]
    page.show(scenes.small())
    assert not page.one(".ps-when-head button").is_displayed(), "there is nothing to choose"


def test_play_goes_by_schedule(page: Page) -> None:
    run = served()
    ends = ends_of(run)
    page.show(run)
    page.js(WATCH)
    page.click("speed-3")
    page.key("SPACE")
    page.until("return seen.length > 12")
    page.key("SPACE")
    seen = page.js("return seen")
    assert seen[:12] == ends[:12]
    page.js("seen.length = 0")
    page.key("ARROW_RIGHT")
    page.until("return seen.length > 0")
    assert page.js("return seen[0]") not in ends, "by hand it is still one event"


def test_a_batch_is_written_at_once(page: Page) -> None:
    page.moving()
    run = served()
    ends = ends_of(run)
    at, wanted = next(
        (at, event.scheduled)
        for at, event in enumerate(run)
        if event.kind == "schedule" and len(event.scheduled) > 3
        if all(not row.is_prompt for row in event.scheduled)
    )
    begin = ends[ends.index(at + 1) - 1]
    page.show(run, begin)
    page.click("speed-1")
    page.key("SPACE")
    page.until("return pagesimPlayer.step === arguments[0]", at + 1)
    page.key("SPACE")
    written = {e.block for event in run[begin : at + 1] for e in event.effects if e.kind == "write"}
    assert len(written) == len(wanted)
    badges = page.look("boxes", ".over .badge")
    assert len(badges) >= len(written), "all of them are marked"
    assert str(len(wanted)) in page.text(".ps-caption")


def test_predict_asks_about_events_not_batches(page: Page) -> None:
    page.show(served())
    page.js(WATCH)
    page.click("predict")
    page.key("SPACE")
    page.until("return document.querySelector('[data-action=play]').textContent.endsWith('Play')")
    seen = page.js("return seen")
    assert [*dict.fromkeys(seen)] == [*range(page.step + 1)], "not from schedule() to schedule()"
    assert page.data("asking") == f"{page.step}"


def test_a_name_is_followed_and_a_sign_leads_to_its_moment(page: Page) -> None:
    run = served(pool=160)
    preempted = run.find(kind="preempt")
    page.show(run)
    page.js("""
        const name = [...document.querySelectorAll('.ps-curve text.end')]
          .find((node) => node.textContent === 's1');
        const { left, width, top, height } = name.getBoundingClientRect();
        document.querySelector('.ps-curve').dispatchEvent(new PointerEvent('pointerdown',
          { clientX: left + width / 2, clientY: top + height / 2, pointerId: 1 }));""")
    assert page.text(".ps-detail").startswith("s1 ")
    assert page.one(".ps-curve .picked-row").get_attribute("d")
    assert preempted
    sign = page.one(".ps-curve text.back")
    page.js("arguments[0].scrollIntoView({block: 'center'})", sign)
    ActionChains(page.driver).move_to_element(sign).click().perform()
    assert page.step - 1 in preempted


@pytest.mark.parametrize("width", [360, 400, 768, 1000, 1400, 1920])
@pytest.mark.parametrize("count", [9, 30])
def test_its_words_are_large_and_apart(page: Page, width: int, count: int) -> None:
    page.size(width, 900)
    page.show(served(count=count))
    for unit in range(3):
        page.click(f"unit-{unit}")
        sizes = page.js("""
            const node = document.querySelector('.ps-curve');
            const scale = node.getBoundingClientRect().width / node.viewBox.baseVal.width;
            return [...node.querySelectorAll('text')]
              .map((text) => parseFloat(getComputedStyle(text).fontSize) * scale);""")
        assert min(sizes) >= 11, unit
        words = page.look("boxes", ".ps-curve text:not(.back)")
        for i, one in enumerate(words):
            for other in words[i + 1 :]:
                apart = (
                    one["right"] <= other["left"] + 1
                    or other["right"] <= one["left"] + 1
                    or abs(one["y"] - other["y"]) > 8
                )
                assert apart, (one["says"], other["says"])
        assert max(each["right"] for each in words) <= width
    assert page.js("return document.documentElement.scrollWidth") <= width


def test_a_long_run_draws_few_things(page: Page) -> None:
    """20,000 events, 300 requests: as many nodes as rows of pixels, and a step moves one line."""
    limits = Limits(max_model_len=128, max_num_seqs=64)
    asked = [Request(f"r{i}", 0.02 * i, 30, 20 + i % 40) for i in range(450)]
    run = pagesim.simulate(
        asked, policy="paged", pool=4096, limits=limits, record=True, progress=False
    ).timeline
    assert run is not None and len(run) > 15_000
    page.show(run)
    assert page.js("return document.querySelectorAll('.ps-curve *').length") < 4000
    (box,) = page.look("boxes", ".ps-curve")
    assert box["bottom"] - box["top"] < 700
    times = page.js("""
        const times = [];
        for (let i = 0; i < 200; i++) {
          const begun = performance.now();
          pagesimPlayer.goto((i * 7919) % pagesimPlayer.steps);
          times.push(performance.now() - begun);
        }
        return times.sort((a, b) => a - b)[100];""")
    assert times < 5 * 10
