"""The scheduler's queues in the player: seen, stepped through, never in the way of the rest."""

import pytest

from pagesim.timeline.header import state_as_dict
from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_when import served


@pytest.fixture
def player(page: Page) -> Page:
    return page.show(scenes.scheduled())


def test_the_queues_at_every_step(player: Page) -> None:
    run = scenes.scheduled()
    for step in range(len(run) + 1):
        player.js("pagesimPlayer.goto(arguments[0])", step)
        assert player.state() == state_as_dict(run.at(step)), step
        for queue, names in run.at(step).queues.items():
            row = [text for text in player.look("row", queue) if "chat" in text]
            shown = [text.split(" +")[0].removesuffix(" \u21ba") for text in row]
            assert shown == [f"s{n[-1]} {n}" for n in names], step
    player.go(run.find(kind="preempt")[0] + 1)
    assert player.text(".ps-call") == "preempt \u00b7 s2 chat-2 \u00b7 schedule 3"
    assert "running \u2192 waiting" in player.text(".ps-changes")
    player.shot("queues-preempted")


def test_queues_stand_beside_the_free_list_where_there_is_room(page: Page) -> None:
    """Else the course of the run would lie below the first screen."""
    run = served(pool=2048, count=30)
    for width in (400, 1000, 1400):
        page.size(width, 900)
        page.show(run, 90)
        (free,), (waits,) = (
            page.look("boxes", ".under text", t) for t in ("GPU free list", "waiting")
        )
        beside = free["right"] < waits["left"]
        assert beside if width > 400 else free["bottom"] < waits["top"]
        where = page.look("boxes", ".ps-stage text.strong", "GPU free list", "waiting", "running")
        for step in (1, 40, len(run)):
            page.go(step)
            now = page.look("boxes", ".ps-stage text.strong", "GPU free list", "waiting", "running")
            assert now == where, "nothing jumps"


def test_who_computes_how_much(player: Page) -> None:
    player.go(scenes.scheduled().find(kind="schedule")[0] + 1)
    assert player.look("row", "running") == ["3", *(f"s{i} chat-{i} +7" for i in range(3))]


def test_from_schedule_to_schedule(player: Page) -> None:
    ends = [i + 1 for i in scenes.scheduled().find(kind="schedule")]
    for number, end in enumerate(ends, 1):
        player.click("next-schedule")
        assert player.step == end
        assert player.text(".ps-call") == f"schedule {number}"
    player.click("next-schedule")
    assert (player.step, player.text(".ps-message")) == (ends[-1], "no later match")
    player.click("prev-schedule")
    assert (player.step, player.text(".ps-message")) == (ends[-2], f"schedule {len(ends) - 1} of 9")
    shift = "\ue008"  # selenium's Keys.SHIFT
    player.one(".pagesim-player").send_keys(shift + "\ue012")
    assert player.step == ends[-3]
    player.one(".pagesim-player").send_keys(shift + "\ue014")
    assert player.step == ends[-2]
    player.key("ARROW_LEFT")
    assert (player.step, player.text(".ps-message")) == (ends[-2] - 1, "")
    assert "Shift" in player.text(".ps-keys")


def test_without_a_scheduler_there_is_nothing_of_it(page: Page) -> None:
    page.show(scenes.small())
    assert page.all('[data-action$="schedule"]') == []
    assert "waiting" not in page.text(".ps-stage") and "Shift" not in page.text(".ps-keys")
    page.one(".pagesim-player").send_keys("\ue008\ue014")
    assert page.step == 1, "with Shift an arrow still is an arrow"


def test_a_chip_selects_its_sequence(player: Page) -> None:
    player.go(1)
    player.look("clickText", ".ps-stage text", "s0 chat-0")
    said = "return document.querySelector('.ps-detail').textContent.includes(arguments[0])"
    player.until(said, "chat-0 is waiting")
    steps = []
    for _ in range(3):
        player.click("sel-next")
        steps.append(player.step)
    assert steps == [i + 1 for i in scenes.scheduled().find(sequence=0)[1:4]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_two_hundred_waiting_stay_inside_the_picture(page: Page, theme: str) -> None:
    run = scenes.scheduled(200)
    page.dark(theme == "dark")
    page.show(run)
    for step in (200, 201, run.find(kind="schedule")[1] + 1, len(run)):
        page.go(step)
        waiting, running = page.look("row", "waiting"), page.look("row", "running")
        assert int(waiting[0]) + (int(running[0]) if len(running) > 1 else 0) <= 200
        count, *chips, more = waiting
        assert int(count) == len(chips) + int(more), "whoever is not shown is counted"
        ends = max(box["right"] for box in page.look("boxes", ".ps-stage text", more))
        (stage,) = page.look("boxes", ".ps-stage")
        assert ends > stage["right"] - 100, "the row is used to its end"
        assert page.look("outside") == [], step
    assert page.console() == []
    page.shot(f"queues-many-{theme}")
