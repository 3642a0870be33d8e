"""The curve is the measured one, on a logarithmic axis, and measuring it again can be done."""

import itertools
import json
from typing import Any

import pytest

from pagesim.errors import UsageError
from pagesim.figures import alt_text, style
from pagesim.figures.charts.prefix_hits import PLOT, measure, prefix_hits
from pagesim.figures.pictures import DATA
from pagesim.sizing import PRESETS
from pagesim.workload import load
from tests.figures.charts import shown
from tests.studies.test_prefix_hits import CURVE, EXTRACT

pytestmark = pytest.mark.ch06

HITS = (3055, 3071, 3278, 3967, 7084, 14254, 20445, 24499, 25309)


def committed() -> dict[str, Any]:
    """What is measured of the first 3,000 requests of the Mooncake conversation trace."""
    return json.loads((DATA / "prefix_hits.json").read_text(encoding="utf-8"))


measured = pytest.fixture(committed)


def test_the_committed_points_are_the_measured_ones(measured: dict[str, Any]) -> None:
    points = [(point["num_blocks"], point["hits"]) for point in measured["curve"]]
    assert points == [(240 * 2**place, hits) for place, hits in enumerate(HITS)]
    assert {point["lookups"] for point in measured["curve"]} == {77_626}
    assert measured["endless"] == {"num_blocks": None, "lookups": 77_626, "hits": 25_309}
    assert measured["ids"] == {"num_blocks": None, "lookups": 80_619, "hits": 25_332}
    assert "one prompt at a time, without answers and without concurrency" in measured["source"]
    assert "3,000 requests of the Mooncake" in measured["source"]


def test_the_points_lie_at_their_rates_and_equal_factors_apart(measured: dict[str, Any]) -> None:
    lines = prefix_hits(measured).axes[0].lines
    (curve,) = [line for line in lines if len(line.get_xdata()) == len(HITS)]
    assert curve.get_color() == style.SAVED
    xs, ys = curve.get_xdata(), curve.get_ydata()
    gaps = [right - left for left, right in itertools.pairwise(xs)]
    assert gaps == pytest.approx([gaps[0]] * 8)
    high = 1.18 * 100 * 25_309 / 77_626
    rise = [(ys[0] - y) / PLOT * high for y in ys]
    assert rise == pytest.approx([100 * (hits - HITS[0]) / 77_626 for hits in HITS])
    levels = [line.get_ydata()[0] for line in lines if line.get_linewidth() == 1.1]
    assert levels[0] == pytest.approx(ys[-1])
    assert levels[1] - levels[0] == pytest.approx((32.604 - 31.422) / high * PLOT, rel=1e-3)


def test_words(measured: dict[str, Any]) -> None:
    words = shown(prefix_hits(measured, model=PRESETS["llama-3.1-8b"]))
    assert {"240", "61,440", "123K", "983K", "31.5M", "3.9", "32.6"} <= set(words)
    # 512 tokens of 128 KiB: 240 blocks are 15 GiB.
    assert {"GiB, llama-3.1-8b", "15", "3,840"} <= set(words)
    assert "32.60 % with endless room: 25,309 of the 77,626 full blocks" in words
    assert "GiB, llama-3.1-8b" not in shown(prefix_hits(measured))
    assert alt_text(prefix_hits(measured)).endswith(measured["source"])


def test_what_is_missing_is_named(measured: dict[str, Any]) -> None:
    del measured["ids"]
    with pytest.raises(UsageError, match=r"no ids: .*figures\.charts\.prefix_hits\.measure"):
        prefix_hits(measured)


def test_measuring_again_gives_what_is_drawn(measured: dict[str, Any]) -> None:
    found = measure(load(EXTRACT, first=250), "the trace")
    assert found.keys() == measured.keys()
    assert [(point["num_blocks"], point["hits"]) for point in found["curve"]] == CURVE
    assert found["ids"] == {"num_blocks": None, "lookups": 7029, "hits": 444}
    assert found["endless"] == {"num_blocks": None, "lookups": 6779, "hits": 444}
    assert "the first 250 requests of the trace, through" in found["source"]
    assert "6.5" in shown(prefix_hits(found))  # 444 of 6,779
