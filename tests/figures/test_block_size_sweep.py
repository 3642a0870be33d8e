"""Columns are the means of each block size, and the rule of thumb stands under them."""

import pytest

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


SIZES = {256: row(75, 20, 26), 1: row(98, 0, 34), 16: row(96, 2, 33)}


def test_columns_are_as_high_as_their_share_smallest_size_first() -> None:
    figure = block_size_sweep(SIZES, 16_000)
    parts = [patch for patch in rectangles(figure) if patch.get_height() < COLUMNS]
    blue, red = style.PARTS["token"].color, style.PARTS["internal"].color
    tokens = [patch for patch in parts if fill(patch) == blue][1:]  # the first is the legend's
    assert [patch.get_height() for patch in tokens] == pytest.approx(
        [COLUMNS * share / 100 for share in (98, 96, 75)]
    )
    internal = [patch for patch in parts if fill(patch) == red][1:]
    assert internal[-1].get_height() == pytest.approx(COLUMNS * 0.2)
    assert internal[-1].get_hatch() == style.PARTS["internal"].hatch
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
    columns = [patch for patch in rectangles(figure) if patch.get_height() == COLUMNS]
    middle = sorted(columns, key=lambda patch: patch.get_x())[1]
    assert x == pytest.approx(middle.get_x() + middle.get_width() / 2)
    assert y == pytest.approx(middle.get_y() + COLUMNS / 2)
    assert "Diamond: the published share of tokens (50.0 for 16)." in shown(figure)
