"""No arrow on a number, no cut label, no sign on a box; what overlaps is test_layout's."""

import pytest

import pagesim
from tests.e2e import scenes
from tests.e2e.browser import Page

# Texts that an arrow of this step crosses.
CROSSED = """
const boxes = [...document.querySelectorAll('.ps-stage .ps-cell text, .ps-stage .under.texts text')]
  .filter(t => t.textContent.trim()).map(t => [t.textContent, t.getBoundingClientRect()]);
const found = [];
for (const path of document.querySelectorAll('.ps-stage .over .arrow')) {
  const matrix = path.getScreenCTM();
  for (let at = 0; at <= path.getTotalLength(); at += 2) {
    const point = path.getPointAtLength(at).matrixTransform(matrix);
    for (const [text, box] of boxes) {
      const within = point.x > box.left && point.x < box.right;
      if (within && point.y > box.top + 2 && point.y < box.bottom - 2) found.push(text);
    }
  }
}
return [...new Set(found)];
"""
CUT = """
const labels = '.ps-stage .ps-cell text, .ps-stage .over text, .ps-stage .mid';
return [...document.querySelectorAll(labels)]
  .map(t => t.textContent).filter(text => text.includes('\\u2026'));
"""
# Signs over the front of a list that touch a box.
NEXT = """
const boxes = [...document.querySelectorAll('.ps-stage .under.rects rect')]
  .map(r => r.getBoundingClientRect());
return [...document.querySelectorAll('.ps-stage .under.texts text')]
  .filter(t => t.textContent.startsWith('\\u25be'))
  .filter(t => { const a = t.getBoundingClientRect(), low = a.bottom - a.height * 0.2;
    return boxes.some(b => b.width < 60 && b.left < a.right && a.left < b.right && b.top - 1.5 < low
      && a.top + 2 < b.bottom); })
  .map(t => t.textContent);
"""


def shared() -> pagesim.Timeline:
    """Figure 8 of the paper, with its words."""
    manager = pagesim.SelfAttnBlockSpaceManager(4, 9, 0, watermark=0.0)
    with pagesim.record(manager) as run:
        one = pagesim.Sequence(1, list(range(7)), 4)
        manager.allocate(pagesim.SequenceGroup("p", [one]))
        one.status = pagesim.SequenceStatus.RUNNING
        two = one.fork(2)
        manager.fork(one, two)
        for seq, token in ((one, 7), (two, 8)):
            seq.append_token_id(token, {token: pagesim.Logprob(0.0)})
            manager.append_slots(seq, 0)
    words = ["Four", "score", "and", "seven", "years", "ago", "our", "fathers", "mothers"]
    return run.annotate(tokens=dict(enumerate(words)))


def simulated() -> pagesim.Timeline:
    """What `pagesim simulate --record` gives: token ids are negative, blocks have 16 slots."""
    requests = pagesim.workload.paper_sharegpt(4, seed=0)
    run = pagesim.simulate(requests, pool=4096, block_size=16, record=True, progress=False)
    assert isinstance(run, pagesim.Simulation) and run.timeline is not None
    return run.timeline[:60]


RUNS = {
    "small": (scenes.small, range(9)),
    "shared": (shared, range(5)),
    "caching": (lambda: scenes.by_chance(3, True, 100), range(0, 101, 5)),
    "naive": (lambda: scenes.by_chance(4, False, 100), range(0, 101, 5)),
    "scheduled": (scenes.scheduled, range(0, 30, 3)),
    "simulated": (simulated, range(0, 60, 7)),
}


@pytest.mark.parametrize("name", RUNS)
def test_nothing_lies_on_anything_else(page: Page, name: str) -> None:
    make, steps = RUNS[name]
    run = make()
    page.show(run)
    for step in steps:
        page.js("pagesimPlayer.goto(arguments[0])", min(step, len(run)))
        assert page.js(CROSSED) == [], step
        assert page.js(CUT) == [], step
        assert page.js(NEXT) == [], step
    assert page.console() == []


def test_every_column_of_a_block_table_has_a_heading(page: Page) -> None:
    page.show(scenes.small(), 1)
    texts = page.js(
        "return [...document.querySelectorAll('.ps-stage text')].map(t => t.textContent)"
    )
    assert {"block", "filled"} <= set(texts)
