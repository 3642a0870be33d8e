"""Batches and shared memory: bars are ours, diamonds the paper's, whiskers what our tests allow."""

import matplotlib as mpl
import pytest

from pagesim.figures import style
from pagesim.figures.charts.batch_size import batch_size
from pagesim.figures.charts.compare import BAR, LEFT, RIGHT, Row
from pagesim.figures.charts.sharing import BEAM, PARALLEL, WITHIN, sharing
from tests.figures.charts import comparison, diamonds, fill, rectangles, shown
from tests.studies import test_paper

pytestmark = pytest.mark.ch01

# MADE UP: a tenth more than the largest number of a panel fits on its scale.
SHAREGPT = comparison(
    {"max": {"batch": 8.0}, "paged": {"batch": 40.0}},
    {"max": {"batch": 10.0}, "paged": {"batch": 30.0}},
)
ALPACA = comparison(
    {"max": {"batch": 7.0, "saturated": 7.0}, "paged": {"batch": 50.0, "saturated": 200.0}},
    {"max": {"batch": 7.0}, "paged": {"batch": 130.0}},
)
BOTH = {"sharegpt": SHAREGPT, "alpaca": ALPACA}
SAVED = {
    "alpaca": comparison(
        {PARALLEL: {"2": 6.0, "6": 12.0}, BEAM: {"2": 40.0, "6": 60.0}},
        {PARALLEL: {"2": 5.0, "6": 10.0}, BEAM: {"2": 37.0, "6": 55.0}},
    ),
    "sharegpt": comparison(
        {PARALLEL: {"2": 16.0, "4": 24.0}, BEAM: {"2": 48.0, "4": 72.0}},
        {PARALLEL: {"2": 16.2}, BEAM: {"2": 44.3}},
    ),
}


def along(values: list[float], largest: float) -> list[float]:
    """Where numbers lie on a scale that ends a tenth above the largest."""
    return [LEFT + value / (1.1 * largest) * (RIGHT - LEFT) for value in values]


def bars(figure: mpl.figure.Figure) -> list[tuple[float, str, str]]:
    """Where each bar ends, its colour, and its hatch."""
    return [
        (patch.get_x() + patch.get_width(), fill(patch), patch.get_hatch() or "")
        for patch in rectangles(figure)
        if patch.get_height() == BAR
    ]


def test_batches_end_where_their_numbers_are() -> None:
    figure = batch_size(BOTH)
    ends, colors, hatches = zip(*bars(figure), strict=True)
    assert list(ends) == pytest.approx(
        [*along([8, 40], 40), *along([7, 7, 200, 50], 200)]  # the hatched ones lie behind
    )
    assert [bool(hatch) for hatch in hatches] == [False, False, True, False, True, False]
    assert set(colors) == {style.MUTED, style.PAPER}
    marks = [x for x, _ in diamonds(figure)]
    assert marks == pytest.approx([*along([10, 30], 40), *along([7, 130], 200)])


def test_whiskers_are_what_the_tests_allow_and_only_there() -> None:
    figure = batch_size(BOTH)
    levels = {round(y, 6) for _, y in diamonds(figure)}
    spans = [
        list(line.get_xdata())
        for line in figure.axes[0].lines
        if {round(y, 6) for y in line.get_ydata()} <= levels
    ]
    assert spans == [
        pytest.approx(along([10 * 0.88, 10 * 1.12], 40)),
        pytest.approx(along([30 * 0.8, 30 * 1.2], 40)),
    ]
    assert dict.fromkeys(["alpaca", "sharegpt"], test_paper.POINTS) == WITHIN


def test_beam_searches_are_hatched_and_samples_are_not() -> None:
    figure = sharing(SAVED)
    ends, colors, hatches = zip(*bars(figure), strict=True)
    assert list(ends) == pytest.approx([*along([6, 12, 16, 24], 24), *along([40, 60, 48, 72], 72)])
    assert list(colors) == [style.SAVED] * 4 + [style.PAPER] * 4
    assert [bool(hatch) for hatch in hatches] == [False] * 4 + [True] * 4
    assert len(diamonds(figure)) == 6  # of four outputs on ShareGPT nothing was published
    assert shown(figure).count("\N{EN DASH}") == 2


def test_numbers_are_written_out() -> None:
    words = shown(batch_size(BOTH))
    assert {"8.0", "10.0", "50.0\N{EN DASH}200.0", "130.0"} <= set(words)
    assert Row("equal", 7.0, upper=7.04).numbers == "7.0"
    assert any("no bound claimed" in word for word in words)
