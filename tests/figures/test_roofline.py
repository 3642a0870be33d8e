"""The roofline draws what a benchmark wrote. The figures here are MADE UP; no chip was measured."""

from typing import Any

import pytest

from pagesim.figures import style
from pagesim.figures.charts.roofline import LABEL, MARGIN, VALUE, roofline
from tests.figures.charts import fill, rectangles, shown

pytestmark = pytest.mark.ch03


def row(case: str, name: str, tb_s: float | None, error: str | None = None) -> dict[str, Any]:
    share = None if tb_s is None else tb_s / 4.0
    return {
        **{"case": case, "name": name, "us": tb_s and 100 / tb_s, "tb_s": tb_s, "graph": True},
        **{"of_copy": share, "of_read": share, "error": error},
    }


def report(**changes: Any) -> dict[str, Any]:
    made_up = {
        "version": 1,
        "dry_run": False,
        "date": "2001-02-03T04:05:06+00:00",
        "chip": {"name": "a made-up chip", "processors": 1, "l2_bytes": 1},
        "versions": {"torch": "0.0", "triton": "0.0"},
        "copy_tb_s": 4.0,
        "read_tb_s": 4.4,
        "cases": [],
        "rows": [
            row("one", "fast", 3.6),
            row("one", "slow", 1.0),
            row("two", "fast", 3.0),
            row("two", "slow", None, "ModuleNotFoundError: No module named 'slow'"),
        ],
    }
    return {**made_up, **changes}


def test_bars_and_ceilings_share_one_scale() -> None:
    figure = roofline(report())
    room = style.WIDTH - 2 * MARGIN - LABEL - VALUE
    widths = [bar.get_width() for bar in rectangles(figure)]
    assert widths == pytest.approx([room * rate / 4.4 for rate in (3.6, 1.0, 3.0)])
    lines = [line.get_xdata()[0] for line in figure.axes[0].lines]
    assert lines == pytest.approx([MARGIN + LABEL + room * rate / 4.4 for rate in (4.0, 4.4)])
    fast, slow, again = map(fill, rectangles(figure))
    assert fast == again != slow


def test_the_numbers_stand_beside_the_bars_and_a_missing_one_says_why() -> None:
    words = shown(roofline(report()))
    assert "3.60 TB/s, 90% of the copy" in words
    assert "not measured: ModuleNotFoundError: No module named 'slow'" in words
    assert "2001-02-03, torch 0.0, triton 0.0" in words
    assert "Paged decode on a made-up chip" in words
