"""Light and dark: the player follows, and every text stays readable in both."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e import scenes
from tests.e2e.browser import Page

# For every text on the screen: its colour, and what lies behind it. That is the halo where a text
# has one, else the last opaque shape painted under its middle, else the ground of its ancestors.
TEXTS = """
const rgb = text => (/rgba?\\(([^)]+)\\)/.exec(text) ?? [, '0,0,0,0'])[1].split(',').map(Number);
const opaque = color => color.length === 3 || color[3] === 1;
const ground = node => {
  for (; node; node = node.parentElement) {
    const color = rgb(getComputedStyle(node).backgroundColor);
    if (opaque(color) && !(color.length === 4 && color[3] === 0)) return color.slice(0, 3);
  }
  return [255, 255, 255];
};
const seen = n => n.checkVisibility() && n.textContent.trim() && n.getClientRects().length;
const HTML = '.pagesim-player :is(h1, p, b, span, button, label)';
const found = [];
for (const node of document.querySelectorAll(HTML)) {
  const own = [...node.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  if (!own || !seen(node)) continue;
  found.push([node.textContent, rgb(getComputedStyle(node).color), ground(node)]);
}
const shapes = [...document.querySelectorAll('.pagesim-player svg :is(rect, path)')]
  .filter(node => !node.closest('defs, marker, pattern'));
for (const node of document.querySelectorAll('.pagesim-player svg text')) {
  if (!seen(node)) continue;
  const style = getComputedStyle(node), box = node.getBoundingClientRect();
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  let behind = ground(node);
  if (style.stroke !== 'none' && parseFloat(style.strokeWidth) >= 3) behind = rgb(style.stroke);
  else for (const shape of shapes) {
    if (!(shape.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
    const look = getComputedStyle(shape);
    if (!look.fill.startsWith('rgb') || look.opacity !== '1' || !opaque(rgb(look.fill))) continue;
    const here = new DOMPoint(x, y).matrixTransform(shape.getScreenCTM().inverse());
    if (!shape.isPointInFill(here)) continue;
    behind = rgb(look.fill).slice(0, 3);
  }
  found.push([node.textContent, rgb(style.fill), behind]);
}
return found;
"""


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
    texts: list[tuple[str, list[int], list[int]]] = page.js(TEXTS)
    assert len(texts) > 40
    pairs = [(text[:40], round(contrast(ink, behind), 2)) for text, ink, behind in texts]
    return [(text, value) for text, value in pairs if value < 4.5]


def colors(page: Page) -> dict[str, Any]:
    result: dict[str, Any] = page.js(
        "const look = css => getComputedStyle(document.querySelector(css));"
        "return {body: look('body').backgroundColor, ink: look('.ps-caption').color,"
        " heading: look('svg text.heading').fill, edge: look('.ps-stage .edge').stroke}"
    )
    return result


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
    player.until("return document.querySelector('.pagesim-player').dataset.theme === 'dark'")
    dark = colors(player)
    assert all(light[key] != dark[key] for key in light), (light, dark)
    assert luminance([int(c) for c in dark["body"][4:-1].split(",")]) < 0.05
    last = int(player.data("steps") or 0)
    for step in (last // 3, last // 2, last):
        player.go(step)
        for theme in (True, False):
            player.dark(theme)
            name = "dark" if theme else "light"
            player.until(
                "return document.querySelector('.pagesim-player').dataset.theme === arguments[0]",
                name,
            )
            assert hard_to_read(player) == [], (name, step)
    player.dark()
    player.until("return document.querySelector('.pagesim-player').dataset.theme === 'dark'")
    player.shot(f"dark-{player.js('return pagesimPlayer.steps')}")


def test_a_question_and_its_answer_are_readable_in_the_dark(page: Page, tmp_path: Path) -> None:
    scenes.small().to_html(tmp_path / "run.html")
    page.dark()
    page.open(tmp_path / "run.html").click("predict")
    page.click("next")
    assert hard_to_read(page) == []
    page.choose(9)
    assert hard_to_read(page) == []
    page.shot("dark-wrong-answer")
