"""What a reader sees first: one bar, one look for each request, and what sharing saves."""

import pagesim
from tests.e2e import scenes
from tests.e2e.browser import Page

PATTERNED = """
const of = (css) => [...document.querySelectorAll(css)].filter((node) =>
  (node.getAttribute('fill') ?? '').startsWith('url(#ps-round'));
return [of('.ps-cell path').length, of('.ps-stage .under rect').length,
  of('.ps-stage .under path').length, of('.ps-curve path').length];
"""
SIZES = """
return [...document.querySelectorAll('.ps-stage text')].map((node) =>
  [node.className.baseVal.includes('sum'), parseFloat(getComputedStyle(node).fontSize)]);
"""
SHOWN = """
return [...document.querySelectorAll('.pagesim-player > .ps-bar :is(button, input)')]
  .filter((node) => !node.hidden && !node.closest('[hidden]')).map((node) => {
  node.scrollIntoView();
  const { x, y, width, height } = node.getBoundingClientRect();
  return [width > 10 && (height >= 24 || node.type === 'range'),
    document.elementFromPoint(x + width / 2, y + height / 2) === node];
});
"""


def test_a_request_has_one_look_wherever_it_is(page: Page) -> None:
    story = pagesim.Story(gpu_blocks=14, block_size=4)
    for name in range(12):
        story.arrive([1, 2, 3], name)
    page.show(story.run, 12)
    cells, boxes, tables, course = page.js(PATTERNED)
    assert cells == 2, "s10 and s11, whose blocks have their names"
    assert boxes >= 2 and tables == 2, "beside their names, and in their tables"
    assert course >= 2


def test_every_tool_is_in_one_bar_and_can_be_reached(page: Page) -> None:
    for width in (400, 1400):
        page.size(width, 900)
        page.show(scenes.small(), 4)
        assert len(page.all(".pagesim-player > .ps-bar")) == 1
        shown = page.js(SHOWN)
        assert len(shown) > 12 and all(map(all, shown)), width


def test_the_keys_are_told_when_they_are_wanted(page: Page) -> None:
    page.show(scenes.small(), 4)
    node = page.one(".ps-keys")
    low = node.size["height"]
    page.one(".ps-keys summary").send_keys("\ue007")
    assert node.size["height"] > low
    assert page.step == 4


def test_what_sharing_saves_is_the_largest_text(page: Page) -> None:
    for width in (400, 1400):
        page.size(width, 900)
        page.show(scenes.small(), 4)
        sums = [size for is_sum, size in page.js(SIZES) if is_sum]
        others = [size for is_sum, size in page.js(SIZES) if not is_sum]
        assert len(sums) == 1 and sums[0] > max(others), width
