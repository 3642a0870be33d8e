"""The bars are the models' own numbers on one scale, and no word covers another."""

import pytest
from matplotlib.patches import Rectangle

from pagesim.figures import page
from pagesim.figures.charts.kv_size import KEPT, KINDS, NAME, VALUE, kv_size
from pagesim.sizing import ModelSpec

pytestmark = pytest.mark.ch08

MODELS = [ModelSpec.preset(name) for name in ("opt-13b", "llama-3.1-8b", "deepseek-v3")]


def test_bars_share_one_scale_and_differ_in_colour_and_pattern() -> None:
    legend, bars = [], []
    for patch in kv_size(MODELS).axes[0].patches:
        assert isinstance(patch, Rectangle)
        (legend if len(legend) < len(KINDS) else bars).append(patch)
    room = page.ROOM - NAME - VALUE - KEPT
    wanted = [room * size / 819_200 for size in (819_200, 131_072, 70_272)]
    assert [bar.get_width() for bar in bars] == pytest.approx(wanted)
    looks = [(patch.get_facecolor(), patch.get_hatch()) for patch in bars]
    assert looks == [(patch.get_facecolor(), patch.get_hatch()) for patch in legend]
    assert len({color for color, _ in looks}) == len({hatch for _, hatch in looks}) == 3
