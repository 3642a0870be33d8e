"""A circle for every number of ours, and a diamond for the published one, on a logarithmic axis."""

import math

import pytest

from pagesim.errors import UsageError
from pagesim.figures import alt_text, spread
from tests.figures.charts import comparison, diamonds, shown

COUNTS = comparison(
    {"a": {"0": 100.0, "1": 400.0}, "b": {"0": 200.0}, "c": {"0": 1600.0, "1": 100.0}},
    {"a": {"n": 200.0}, "b": {"n": 800.0}},
)


def test_marks_lie_at_the_logarithms_of_their_numbers() -> None:
    figure = spread([COUNTS, COUNTS])
    circles = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    found = [list(map(float, line.get_xdata())) for line in circles]
    assert [len(places) for places in found] == [2, 1, 2, 2, 1, 2]
    assert found[:3] == found[3:]
    (low, high), (middle,), (far, same) = found[:3]
    assert low == same and low < middle < high < far
    assert (high - low) / (far - low) == pytest.approx(math.log(4) / math.log(16))
    first, second, *_ = diamonds(figure)
    assert first[0] == pytest.approx(middle)
    assert second[0] == pytest.approx(low + (far - low) * math.log(8) / math.log(16))
    assert {"a", "250", "200", "850", "\N{EN DASH}"} <= set(shown(figure))


def test_the_text_has_the_extremes_the_mean_and_the_published_number() -> None:
    text = alt_text(spread(COUNTS))
    for words in ("100 to 400", "mean 250", "published 200", "100 to 1,600"):
        assert words in text


@pytest.mark.parametrize("source", ["counts", 3, {"a": COUNTS}, [1.0]])
def test_what_is_no_comparison_is_refused(source: object) -> None:
    with pytest.raises(TypeError, match="spread cannot draw"):
        spread(source)  # type: ignore[arg-type]


def test_numbers_below_1_rows_without_numbers_and_nothing_are_refused() -> None:
    for ours in ({"a": {"x": 0.5}}, {"a": {}}, {"a": {"x": -1.0}}):
        with pytest.raises(UsageError, match="1 or more"):
            spread(comparison(ours, {}))
    with pytest.raises(UsageError, match="nothing to draw"):
        spread([])
