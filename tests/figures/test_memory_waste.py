"""Stacked bars are the means on one scale, in the looks of their parts, and words say the same."""

import itertools

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pagesim.errors import UsageError
from pagesim.figures import alt_text, page, style
from pagesim.figures.charts.memory_waste import BAR, LEFT, OURS, PUBLISHED, memory_waste
from pagesim.simulation import POLICIES, waste
from pagesim.simulation.waste import WasteLog
from tests.figures.charts import fill, rectangles, shown

pytestmark = pytest.mark.ch01

# The MADE UP means of two policies.
MAX = {"token": 20, "reserved": 10, "internal": 60, "external": 7, "free": 3, "batch": 7.25}
PAGED = {"token": 97.5, "reserved": 0, "internal": 1.5, "external": 1, "free": 0, "batch": 31}
PUBLISHED_ROWS = {
    "max": {"token": 21.0, "reserved": 9.0, "internal": 61.0, "external": 9.0, "batch": 8.0},
    "paged": {"token": 96.0},
}


def bar(figure: Figure, top: float, height: float) -> list[Rectangle]:
    """The filled parts of one bar, from left to right."""
    found = [
        patch
        for patch in rectangles(figure)
        if patch.get_y() == top and patch.get_height() == height and patch.get_fill()
    ]
    return sorted(found, key=lambda patch: patch.get_x())


def tops(figure: Figure) -> list[float]:
    """Where the bars begin: each has an outline of its whole width."""
    return [patch.get_y() for patch in rectangles(figure) if patch.get_width() == BAR]


def test_the_parts_are_those_of_the_log_and_differ_in_colour_pattern_and_grey() -> None:
    assert tuple(style.PARTS) == waste.CACHED_PARTS
    looks = list(style.PARTS.values())
    assert {look.color for look in looks} < {*style.COLORS, style.PAPER}
    assert len({look.color for look in looks}) == len(looks)
    assert len({look.hatch for look in looks}) == len(looks) - 1
    for one, other in itertools.pairwise(looks):
        assert style.contrast(one.color, other.color) > 1.5
    assert all(style.contrast(style.ink_on(look.color), look.color) >= 4.5 for look in looks)


def test_every_policy_has_a_readers_name() -> None:
    assert set(page.POLICIES) == set(POLICIES)


def test_the_parts_of_a_bar_lie_end_to_end_and_are_as_wide_as_their_share() -> None:
    figure = memory_waste({"max": MAX})
    parts = [patch for patch in bar(figure, *tops(figure), OURS) if patch.get_width() < BAR]
    assert [patch.get_width() for patch in parts] == pytest.approx(
        [BAR * percent / 100 for percent in (20, 10, 60, 7, 3)]
    )
    ends = [patch.get_x() + patch.get_width() for patch in parts]
    assert [LEFT, *ends] == pytest.approx([*(patch.get_x() for patch in parts), LEFT + BAR])
    assert [fill(patch) for patch in parts] == [style.PARTS[name].color for name in waste.PARTS]
    hatches = [look.hatch for look in style.PARTS.values()]
    assert [patch.get_hatch() or "" for patch in parts[:4]] == hatches[:4]


def test_cached_blocks_have_a_shade_where_a_run_counts_them() -> None:
    v1 = {**MAX, "free": 1, "cached": 2}
    figure = memory_waste({"max": MAX, "v1": v1})
    (top, low) = tops(figure)
    for at, cached in ((top, False), (low, True)):
        drawn = [fill(patch) for patch in bar(figure, at, OURS)]
        assert (style.PARTS["cached"].color in drawn) is cached
    assert "cached" in shown(figure) and "cached" not in shown(memory_waste(MAX))
    assert "paged (vLLM V1): token 20.0" in alt_text(figure)
    assert "cached 2.0, free 1.0" in alt_text(figure)


def test_the_published_bar_is_hollow_and_grey_where_the_paper_does_not_say() -> None:
    figure = memory_waste({"max": MAX, "paged": PAGED}, published=PUBLISHED_ROWS)
    low = [patch for patch in rectangles(figure) if patch.get_height() == PUBLISHED - 2]
    edges = [style.PARTS[name].color for name in ("token", "reserved", "internal", "external")]
    drawn = [to_hex(patch.get_edgecolor()).upper() for patch in low]
    assert drawn[:5] == [*edges, edges[0]]
    assert [fill(patch) for patch in low] == [style.PAPER] * 5 + [style.HELD]
    assert low[-1].get_width() == pytest.approx(BAR * 0.04)
    assert low[-1].get_x() + low[-1].get_width() == pytest.approx(LEFT + BAR)


def test_the_numbers_stand_in_the_bar_or_under_it() -> None:
    words = shown(memory_waste({"max": MAX, "paged": PAGED}, published=PUBLISHED_ROWS))
    assert {"20.0", "60.0", "7.2", "97.5", "31.0", "21.0", "96.0", "8.0"} <= set(words)
    assert "simulated: free 3.0" in words
    assert "simulated: internal 1.5, external 1.0" in words
    assert shown(memory_waste({"max": MAX})).count("free 3.0") == 1


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(UsageError, match=r"no free, batch: take WasteLog\.mean"):
        memory_waste({"max": {name: 25 for name in ("token", "reserved", "internal", "external")}})
    with pytest.raises(ValueError, match="the log has 0 rows"):
        memory_waste({"max": WasteLog(16)})
