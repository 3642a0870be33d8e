"""The bars are the models' own numbers on one scale, and no word covers another."""

from __future__ import annotations

import itertools

import pytest
from matplotlib.patches import Rectangle

from pagesim.errors import UsageError
from pagesim.figures import alt_text, page, style
from pagesim.figures.charts.kv_size import KEPT, KINDS, NAME, VALUE, kv_size
from pagesim.figures.display import image_bytes
from pagesim.sizing import PRESETS, ModelSpec

pytestmark = pytest.mark.ch10

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


def test_words() -> None:
    shown = [text.get_text() for text in kv_size(MODELS, title="A title").axes[0].texts]
    assert {"A title", "800 KiB", "68.6 KiB", "deepseek-v3"} <= set(shown)
    assert alt_text(kv_size(MODELS)).replace(style.TIMES, "x") == (
        "Bytes per token in all layers, one bar a model. "
        "opt-13b 800 KiB: 40 layers x 40 heads x 2 x 128 numbers. "
        "llama-3.1-8b 128 KiB: 32 layers x 8 heads (for 32) x 2 x 128 numbers. "
        "deepseek-v3 68.6 KiB: 61 layers x 576 numbers."
    )


def test_texts_do_not_cover_each_other() -> None:
    figure = kv_size(PRESETS.values())
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in figure.axes[0].texts]
    pairs = itertools.combinations(boxes, 2)
    assert [(a, b) for (a, one), (b, other) in pairs if one.overlaps(other)] == []
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for _, box in boxes)


def test_the_same_bytes_and_nothing_to_draw() -> None:
    assert image_bytes(kv_size(MODELS), ".svg") == image_bytes(kv_size(MODELS), ".svg")
    with pytest.raises(UsageError, match="there is no model"):
        kv_size([])
