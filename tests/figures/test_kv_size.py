"""The marks are the models' own numbers on one scale."""

import itertools
import math

import pytest
from matplotlib.patches import Rectangle

from pagesim.figures.charts.kv_size import KINDS, kv_size, scale_of
from pagesim.sizing import ModelSpec

pytestmark = pytest.mark.ch08

MODELS = [ModelSpec.preset(name) for name in ("opt-13b", "llama-3.1-8b", "deepseek-v3")]


def test_marks_lie_on_one_scale_by_size_and_differ_in_colour_and_pattern() -> None:
    legend, marks = [], []
    for patch in kv_size(MODELS).axes[0].patches:
        assert isinstance(patch, Rectangle)
        (legend if len(legend) < len(KINDS) else marks).append(patch)
    sizes = [70_272, 131_072, 819_200]
    across = scale_of(sizes)
    middles = [mark.get_x() + mark.get_width() / 2 for mark in marks]
    assert middles == pytest.approx([across(size / 1024) for size in sizes])
    times = [math.log(big / small) for small, big in itertools.pairwise(sizes)]
    apart = [right - left for left, right in itertools.pairwise(middles)]
    assert apart[0] / apart[1] == pytest.approx(times[0] / times[1]), "a scale of factors"
    looks = [(patch.get_facecolor(), patch.get_hatch()) for patch in marks]
    latent, shared, each = looks
    assert [each, shared, latent] == [(one.get_facecolor(), one.get_hatch()) for one in legend]
    assert len({color for color, _ in looks}) == len({hatch for _, hatch in looks}) == 3


def test_one_model_has_a_scale_too() -> None:
    across = scale_of([65_536])
    assert across.start <= across(64) <= across.end
