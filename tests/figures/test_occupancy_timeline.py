"""Slices of time keep every area, whatever their width; what is drawn is these slices."""

import numpy as np
import pytest

from pagesim.errors import UsageError
from pagesim.figures import style
from pagesim.figures.charts.occupancy_timeline import (
    LEFT,
    PANEL,
    RIGHT,
    SLICES,
    cut,
    occupancy_timeline,
)
from pagesim.simulation.waste import CACHED_PARTS, PARTS, WasteLog
from tests.figures.charts import areas, fill, shown

pytestmark = pytest.mark.ch01


def log(rows: int, seed: int = 0, pool: int = 1000) -> WasteLog:
    """A run of rows of any length, the third of them waiting for an arrival."""
    draw = np.random.default_rng(seed)
    made, now = WasteLog(pool), 0.0
    for row in range(rows):
        now += draw.exponential()
        if row == 2:
            made.add(now, 0, 0, 0, 0, 0)
        else:
            token, reserved, internal, external, _ = draw.multinomial(pool, [0.2] * 5).tolist()
            made.add(now, token, reserved, internal, external, 1 + row % 7)
    return made


@pytest.mark.parametrize("rows", [3, 50, 3000])
@pytest.mark.parametrize("width", [None, 0.37, 1e6])
def test_by_seconds_the_area_of_every_part_is_that_of_the_log(
    rows: int, width: float | None
) -> None:
    made = log(rows)
    slices, mean = cut(made, width=width), made.time_mean()
    for name in (*PARTS, "batch"):
        assert slices.mean(name) == pytest.approx(mean[name], rel=1e-9), name
    assert sum(slices.means[name] for name in PARTS) == pytest.approx(100)
    assert slices.end == made.seconds[-1]


def test_by_iterations_each_weighs_the_same_and_waiting_nothing() -> None:
    made = log(50)
    slices, mean = cut(made, by="iterations", width=4), made.mean()
    assert slices.edges.tolist() == [*range(0, 49, 4), 49]
    for name in (*PARTS, "batch"):
        assert slices.mean(name) == pytest.approx(mean[name], rel=1e-9), name
    tokens = made.column("token")[[0, 1, 3, 4]]
    assert slices.means["token"][0] == pytest.approx(tokens.mean() / 10)


def test_a_peak_is_neither_missed_nor_made_larger() -> None:
    made = WasteLog(100)
    made.add(9.5, 10, 0, 0, 0, 1)
    made.add(9.75, 90, 0, 0, 0, 5)
    made.add(20.0, 10, 0, 0, 0, 1)
    slices = cut(made, width=5)
    assert slices.edges.tolist() == [0, 5, 10, 15, 20]
    assert slices.means["token"] == pytest.approx([10, (4.75 * 10 + 0.25 * 90) / 5, 10, 10])
    assert slices.means["batch"] == pytest.approx([1, (4.75 * 1 + 0.25 * 5) / 5, 1, 1])


def test_both_runs_share_the_axis_of_the_longer_one() -> None:
    long, short = log(300), log(60, seed=1)
    figure = occupancy_timeline({"max": long, "paged": short})
    drawn = areas(figure)
    assert [fill(area) for area in drawn] == [style.PARTS[name].color for name in PARTS] * 2
    ends = [area.get_xy()[:, 0].max() for area in drawn]
    share = short.seconds[-1] / long.seconds[-1]
    assert ends == pytest.approx([RIGHT] * 5 + [LEFT + share * (RIGHT - LEFT)] * 5)
    assert len(drawn[0].get_xy()) - 1 == 4 * SLICES


def test_cached_blocks_are_an_area_of_their_own() -> None:
    made = WasteLog(100, CACHED_PARTS)
    made.add(1.0, 20, 0, 0, 50, 9, cached=25)
    figure = occupancy_timeline({"v1": made, "paged": log(60)})
    assert style.PARTS["cached"].color in [fill(area) for area in areas(figure)[:4]]
    assert "cached 25.0, free 5.0" in figure.alt
    assert figure.alt.count("cached") == 1


def test_an_area_is_as_high_as_its_share() -> None:
    made = WasteLog(100)
    made.add(1.0, 20, 30, 0, 50, 49)
    figure = occupancy_timeline({"mine": made})
    ys = [area.get_xy()[:, 1] for area in areas(figure)]
    assert [np.ptp(y) for y in ys] == pytest.approx([0.2 * PANEL, 0.3 * PANEL, 0.5 * PANEL])
    bottom = max(y.max() for y in ys)
    (batch,) = [line for line in figure.axes[0].lines if line.get_linewidth() == 1.4]
    assert bottom - batch.get_ydata() == pytest.approx(PANEL / 1.1)  # 49 of 53.9


def two_steps() -> WasteLog:
    made = WasteLog(100)
    made.add(2.0, 20, 30, 0, 40, 2)
    made.add(4.0, 40, 10, 0, 40, 4)
    return made


def test_iterations_are_counted() -> None:
    words = shown(occupancy_timeline({"max": two_steps(), "own": two_steps()}, by="iterations"))
    assert words.count("3.0 requests at once on average, done after 2 iterations") == 2


def test_what_cannot_be_drawn() -> None:
    waiting = WasteLog(10)
    waiting.add(1.0, 0, 0, 0, 0, 0)
    with pytest.raises(UsageError, match="the log has no iteration"):
        occupancy_timeline({"max": waiting})
