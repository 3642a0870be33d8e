"""A bar for each number of ours, and a diamond for each published one."""

import pytest

from pagesim.errors import UsageError
from pagesim.figures import beside
from pagesim.figures.charts.compare import BAR, LEFT, RIGHT
from tests.figures.charts import comparison, diamonds, rectangles, shown

WASTE = comparison({"a": {"waste": 25.0}, "b": {"waste": 80.0}}, {"b": {"waste": 75.0}})


def test_bars_and_diamonds_lie_at_their_percentages() -> None:
    figure = beside([WASTE, WASTE])
    ends = [p.get_x() + p.get_width() for p in rectangles(figure) if p.get_height() == BAR]
    assert ends == pytest.approx(2 * [LEFT + part * (RIGHT - LEFT) for part in (0.25, 0.8)])
    assert [x for x, _ in diamonds(figure)] == pytest.approx(2 * [LEFT + 0.75 * (RIGHT - LEFT)])
    assert {"a", "b", "25.0", "80.0", "75.0"} <= set(shown(figure))


@pytest.mark.parametrize("source", ["waste", 3, {"a": WASTE}, [1.0]])
def test_what_is_no_comparison_is_refused(source: object) -> None:
    with pytest.raises(TypeError, match="beside cannot draw"):
        beside(source)  # type: ignore[arg-type]


def test_a_row_has_one_number() -> None:
    with pytest.raises(UsageError, match="'a' has 2"):
        beside(comparison({"a": {"x": 1.0, "y": 2.0}}, {}))
    with pytest.raises(UsageError, match="nothing to draw"):
        beside([])
