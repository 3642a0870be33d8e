"""No arrow on a number, no cut label, no sign on a box; what overlaps is test_layout's."""

import pytest

import pagesim
from tests.e2e import scenes
from tests.e2e.browser import Page


def shared() -> pagesim.Timeline:
    """Figure 8 of the paper, with its words."""
    story = pagesim.Story(gpu_blocks=9, block_size=4)
    one = story.arrive(range(7), 1)
    two = one.fork(2)
    one.write([7])
    two.write([8])
    words = ["Four", "score", "and", "seven", "years", "ago", "our", "fathers", "mothers"]
    return story.run.annotate(tokens=dict(enumerate(words)))


def simulated() -> pagesim.Timeline:
    """What `pagesim simulate --record` gives: token ids are negative, blocks have 16 slots."""
    requests = pagesim.workload.paper_sharegpt(4, seed=0)
    run = pagesim.simulate(requests, pool=4096, block_size=16, record=True, progress=False)
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
        for what in ("crossedByArrows", "cutLabels", "signsOnBoxes"):
            assert page.look(what) == [], (what, step)
        shown = [text.text for text in page.all(".ps-stage text")]
        assert not any(text.startswith("-") for text in shown), "nobody knows such a token"
    assert page.console() == []


def test_every_column_of_a_block_table_has_a_heading(page: Page) -> None:
    page.show(scenes.small(), 1)
    assert {"block", "filled"} <= {text.text for text in page.all(".ps-stage text")}
