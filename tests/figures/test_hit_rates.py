"""A line for each cache at its rates, with its name at its end."""

import pytest

from pagesim.errors import UsageError
from pagesim.figures import hit_rates, style
from pagesim.figures.charts.hit_rates import PLOT
from tests.figures.charts import shown

pytestmark = pytest.mark.ch09

RATES = {"a queue": {500: 4.0, 1000: 8.0, 4000: 20.0}, "a stack": {500: 4.0, 1000: 4.0, 4000: 4.0}}


def test_the_points_lie_at_their_rates_and_equal_factors_apart() -> None:
    lines = [line for line in hit_rates(RATES).axes[0].lines if line.get_linewidth() == 2]
    assert [line.get_color() for line in lines] == [style.color_of(0), style.color_of(1)]
    xs, ys = lines[0].get_xdata(), lines[0].get_ydata()
    assert xs[2] - xs[1] == pytest.approx(2 * (xs[1] - xs[0]))  # twice, and four times the size
    assert (ys[0] - ys[2]) / PLOT * 1.12 * 20 == pytest.approx(16)
    assert set(lines[1].get_ydata()) == {ys[0]}


def test_words() -> None:
    figure = hit_rates(RATES, title="Two caches", notes=["Made up."])
    assert {"a queue, 20.0 %", "a stack, 4.0 %", "500", "1,000", "4,000"} <= set(shown(figure))


@pytest.mark.parametrize(
    "source",
    [
        {},
        {"a": {1: 5.0}},
        {"a": {1: 5.0, 2: 6.0}, "b": {1: 5.0}},
        {name: {1: 2.0, 2: 3.0} for name in "abcdef"},
    ],
)
def test_what_is_no_set_of_lines_is_refused(source: object) -> None:
    with pytest.raises(UsageError, match=r"1 to 5 names with the same sizes: .*'a queue'"):
        hit_rates(source)


def test_what_has_no_sizes_is_refused() -> None:
    with pytest.raises(TypeError, match=r"hit_rates cannot draw a list: give percentages"):
        hit_rates([1.0, 2.0])
