"""Large caches become a map of small cells that still name their sequences."""

import dataclasses

import pytest
from matplotlib.patches import PathPatch

from pagesim.figures import block_layout, pool_map, style
from pagesim.figures.cache_view import cache_view
from pagesim.figures.charts.block_layout import fits
from pagesim.figures.display import image_bytes
from pagesim.journal.state import State
from tests.figures.charts import overlapping, shown
from tests.figures.conftest import cache_of

pytestmark = pytest.mark.ch02


def test_what_is_too_large_for_the_layout_becomes_a_map_of_cells_with_labels(make_cache) -> None:
    made = make_cache(40, 10, 512, 128, swapped=10)
    named = {f"s{100 + i}": table for i, table in enumerate(made.tables.values())}
    snapshot = dataclasses.replace(made, tables=named)
    assert not fits(cache_view(snapshot))
    figure = block_layout(snapshot, title="After 200 requests", highlight=[5])
    words = shown(figure)
    for name, table in named.items():
        assert words.count(name) == len(table.block_ids)
        assert f"{name}: 10 blocks" in words
    assert "GPU pool: 512 blocks, 300 in use, 212 free" in words
    assert "CPU pool: 128 blocks, 100 in use, 28 free" in words
    assert min(text.get_fontsize() for text in figure.axes[0].texts) >= 8
    assert overlapping(figure) == []
    assert len(image_bytes(figure, ".svg")) < 200_000


@pytest.mark.parametrize(("sequences", "blocks", "gpu"), [(7, 2, 64), (1, 11, 16), (2, 2, 65)])
def test_any_size_can_be_drawn(make_cache, sequences: int, blocks: int, gpu: int) -> None:
    snapshot = make_cache(sequences, blocks, gpu)
    assert not fits(cache_view(snapshot))
    assert len(image_bytes(block_layout(snapshot), ".svg")) < 400_000


def hatches(snapshot: State) -> list[str]:
    patches = [p for p in pool_map(snapshot).axes[0].patches if isinstance(p, PathPatch)]
    return [patch.get_hatch() for patch in patches if patch.get_hatch()]


def test_where_no_label_fits_patterns_tell_equal_colours_apart(make_cache) -> None:
    assert hatches(make_cache(40, 8, 512)) == []
    many = make_cache(20, 60, 4096)
    small = hatches(many)
    assert small == [style.pattern_of(10)] * 10
    assert len(image_bytes(block_layout(many), ".svg")) < 400_000


def test_the_cpu_pool_is_hatched(make_cache) -> None:
    assert hatches(make_cache(8, 4, 128, 64, swapped=3)) == [style.CPU_HATCH] * 3


def test_every_cell_has_an_outline(make_cache) -> None:
    axes = pool_map(make_cache(8, 2, 65)).axes[0]  # 16 columns; the fifth row has one cell
    (lattice,) = [patch for patch in axes.patches if patch.get_linewidth() == 0.5]
    lines = lattice.get_path().vertices.reshape(-1, 2, 2)
    flat = [abs(x1 - x0) for (x0, y0), (x1, y1) in lines if y0 == y1]
    tall = [abs(y1 - y0) for (x0, y0), (x1, y1) in lines if x0 == x1]
    width, height = flat[-1], tall[-1] / 4
    assert flat == [16 * width] * 5 + [width]
    assert tall == [5 * height] * 2 + [4 * height] * 15


def test_shared_cells_have_a_thick_edge_and_say_how_many() -> None:
    table = ((1,), (1, 2))
    snapshot = cache_of(2, 3, 0, {"A": table, "B": table}, (0,))
    figure = pool_map(snapshot)
    assert f"{style.TIMES}2" in shown(figure)
    assert style.THICK in [patch.get_linewidth() for patch in figure.axes[0].patches]
    assert "grey: held, but in no table" in " ".join(shown(figure))  # block 2


def test_the_same_bytes_each_time(make_cache) -> None:
    snapshot = make_cache(8, 4, 128)
    first = image_bytes(pool_map(snapshot, highlight=[9, 1]), ".svg")
    assert first == image_bytes(pool_map(snapshot, highlight=[1, 9]), ".svg")
    with pytest.raises(ValueError, match="highlight: block 128"):
        pool_map(snapshot, highlight=[128])
