"""Light and dark: the player follows, and every text stays readable in both."""

from typing import Any

import pytest

from tests.e2e import scenes
from tests.e2e.browser import Page
from tests.e2e.test_race import pair as race


def luminance(color: list[int]) -> float:
    """As WCAG 2 defines it."""
    parts = [c / 255 for c in color[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[int], other: list[int]) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_measured_right() -> None:
    assert contrast([0, 0, 0], [255, 255, 255]) == pytest.approx(21)
    assert contrast([118, 118, 118], [255, 255, 255]) == pytest.approx(4.54, abs=0.01)


def hard_to_read(page: Page) -> list[tuple[str, float]]:
    texts: list[tuple[str, list[int], list[int]]] = page.look("textsOfPlayer")
    assert len(texts) > 40
    pairs = [(text[:40], round(contrast(ink, behind), 2)) for text, ink, behind in texts]
    return [(text, value) for text, value in pairs if value < 4.5]


def colors(page: Page) -> dict[str, Any]:
    return page.js(
        "const look = css => getComputedStyle(document.querySelector(css));"
        "return {body: look('body').backgroundColor, ink: look('.ps-caption').color,"
        " heading: look('svg text.heading').fill, edge: look('.ps-stage .edge').stroke}"
    )


@pytest.fixture(params=["small", "busy", "caching", "queues"])
def player(request: pytest.FixtureRequest, page: Page) -> Page:
    make = {
        "small": scenes.small,
        "busy": lambda: scenes.busy(600),
        "caching": lambda: scenes.by_chance(1, True, 200),
        "queues": lambda: scenes.scheduled(preemption_mode="swap"),
    }
    return page.show(make[request.param]())


def test_the_player_follows_the_system_and_stays_readable(player: Page) -> None:
    light = colors(player)
    assert player.data("theme") == "light"
    player.dark()
    player.themed("dark")
    dark = colors(player)
    assert all(light[key] != dark[key] for key in light), (light, dark)
    assert luminance([int(c) for c in dark["body"][4:-1].split(",")]) < 0.05
    last = int(player.data("steps") or 0)
    for step in (last // 3, last // 2, last):
        player.go(step)
        for name in ("dark", "light"):
            player.dark(name == "dark")
            player.themed(name)
            assert hard_to_read(player) == [], (name, step)
    player.dark()
    player.themed("dark")
    player.shot(f"dark-{player.js('return pagesimPlayer.steps')}")


def test_a_question_and_its_answer_are_readable_in_the_dark(page: Page) -> None:
    page.dark()
    page.show(scenes.small()).click("predict")
    page.click("next")
    assert hard_to_read(page) == []
    page.choose(9)
    assert hard_to_read(page) == []
    page.shot("dark-wrong-answer")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_race_is_readable_in_both_themes(page: Page, theme: str) -> None:
    """Its words, and the lines that bound memory, blocks and lives."""
    page.dark(theme == "dark")
    page.show(race(), address="")
    page.wait('[data-mounted="true"]')
    page.themed(theme)
    for step in (3, 30, 90):
        page.js("pagesimPair.goto(arguments[0])", step)
        assert hard_to_read(page) == [], step
        for what in (".ps-pool .cell", ".ps-pool .outline", ".ps-curve .edge", ".ps-curve .runs"):
            lines = page.look("strokes", f".ps-race {what}")
            assert lines and min(contrast(line, ground) for line, ground in lines) >= 3, what
