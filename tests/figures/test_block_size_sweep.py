"""Columns are the means of each block size, and the rule of thumb stands under them."""

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pagesim.figures import style
from pagesim.figures.charts.block_size_sweep import COLUMNS, block_size_sweep, half_a_block_each
from pagesim.simulation import simulate
from pagesim.workload import Request
from tests.figures.charts import diamonds, fill, rectangles, shown

pytestmark = pytest.mark.ch01


def row(token: float, internal: float, batch: float) -> dict[str, float]:
    external = 100 - token - internal
    rest = {"reserved": 0.0, "free": 0.0, "batch": batch}
    return {"token": token, "internal": internal, "external": external, **rest}


def outlined(figure: Figure) -> list[Rectangle]:
    """The columns' outlines; before them come those of the legend."""
    return [patch for patch in rectangles(figure) if not patch.get_facecolor()[3]][-3:]


SIZES = {256: row(75, 20, 26), 1: row(98, 0, 34), 16: row(96, 2, 33)}


def test_columns_are_as_high_as_what_holds_no_token_smallest_size_first() -> None:
    figure = block_size_sweep(SIZES, 16_000)
    parts = rectangles(figure)
    red = style.PARTS["internal"].color
    internal = [patch for patch in parts if fill(patch) == red][1:]  # the first is the legend's
    high = COLUMNS / (1.05 * 25)  # of a percent
    assert [patch.get_height() for patch in internal] == pytest.approx([0, 2 * high, 20 * high])
    assert internal[-1].get_hatch() == style.PARTS["internal"].hatch
    assert internal[1].get_y() + internal[1].get_height() == pytest.approx(
        internal[2].get_y() + internal[2].get_height()
    ), "one ground line"
    columns = [patch.get_height() for patch in outlined(figure)]
    assert columns == pytest.approx([2 * high, 4 * high, 25 * high])
    words = shown(figure)
    assert [word for word in words if word in ("1", "16", "256")] == ["1", "16", "256"]
    assert "reserved" not in words  # no part without slots in the legend


def test_the_rule_of_thumb_is_what_a_run_leaves_empty() -> None:
    """200 requests of all lengths alike: the last block has (8 - 1) / 2 empty slots on average."""
    requests = [Request(str(i), 0.0, 40 + i % 16, 8 * (1 + i % 5)) for i in range(200)]
    run = simulate(requests, pool=1024, block_size=8, saturated=True, progress=False)
    mean = run.waste.mean()
    rule = half_a_block_each(8, mean["batch"], run.pool.slots)
    assert mean["internal"] == pytest.approx(rule, rel=0.05)
    assert half_a_block_each(1, 34, 16_000) == 0
    assert half_a_block_each(16, 32, 1600) == 15


def test_a_published_share_is_marked_at_its_size() -> None:
    figure = block_size_sweep(SIZES, 16_000, published={16: 50.0})
    ((x, y),) = diamonds(figure)
    columns = outlined(figure)
    middle = sorted(columns, key=lambda patch: patch.get_x())[1]
    assert x == pytest.approx(middle.get_x() + middle.get_width() / 2)
    ground = middle.get_y() + middle.get_height()
    assert ground - y == pytest.approx(middle.get_height() * 50 / 4), "4 % hold no token here"
    assert "Diamond: what the published share of tokens (50.0 for 16) leaves." in shown(figure)
