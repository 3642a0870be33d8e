"""The picture says what is in the snapshot, in words and shapes and not by colour alone."""

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from pagesim.figures import block_layout, style
from pagesim.figures.cache_view import cache_view
from pagesim.figures.charts.pools import CELL_H
from pagesim.figures.display import image_bytes
from pagesim.journal.state import State
from pagesim.v1 import BlockPool
from tests.figures.charts import fill, overlapping, rectangles, shown
from tests.figures.conftest import cache_of

pytestmark = pytest.mark.ch02


@pytest.fixture(scope="module")
def figure(cache: State) -> Figure:
    """The small scene; tests only read it."""
    return block_layout(cache, title="A title")


def texts(figure: Figure) -> list[Text]:
    return list(figure.axes[0].texts)


def the_text(figure: Figure, content: str) -> Text:
    (found,) = [text for text in texts(figure) if text.get_text() == content]
    return found


def cell_of(figure: Figure, block_id: int) -> Rectangle:
    """The outline, in one of the pools, of the block with this id, which stands at its left."""
    pools = the_text(figure, "GPU pool").get_position()[0] - 25
    (label,) = [
        text
        for text in texts(figure)
        if text.get_text() == str(block_id) and text.get_ha() == "right"
    ]
    x, y = label.get_position()
    assert x > pools
    outlines = [patch for patch in rectangles(figure) if inside(patch, x + 7, y)]
    solid = [patch for patch in outlines if patch.get_linestyle() == "-"]
    return max(solid, key=lambda patch: (patch.get_width(), patch.get_linewidth()))


def words_at(figure: Figure, block_id: int) -> set[str]:
    """What stands in a block's line: its id, its tokens, its owners."""
    cell = cell_of(figure, block_id)
    left, top = cell.get_xy()
    line = Rectangle((left - 25, top), 1000, cell.get_height())
    return words_in(figure, line)


def inside(patch: Rectangle, x: float, y: float) -> bool:
    left, top = patch.get_xy()
    return left <= x <= left + patch.get_width() and top <= y <= top + patch.get_height()


def words_in(figure: Figure, patch: Rectangle) -> set[str]:
    return {text.get_text() for text in texts(figure) if inside(patch, *text.get_position())}


def test_every_block_of_both_pools_has_one_cell_with_its_owners(
    cache: State, figure: Figure
) -> None:
    owners = cache_view(cache).owners
    for block_id in range(cache.num_gpu_blocks + cache.num_cpu_blocks):
        words = words_at(figure, block_id)
        label = " ".join(owners.get(block_id, []))
        assert (label in words) if label else words <= {str(block_id), "held"}


def test_shared_blocks_have_a_thick_edge_and_a_count(cache: State, figure: Figure) -> None:
    for block_id in range(cache.num_gpu_blocks):
        cell = cell_of(figure, block_id)
        shared = block_id in {3, 7}
        assert ("×2" in words_at(figure, block_id)) == shared  # noqa: RUF001
        assert (cell.get_linewidth() == style.THICK) == shared


def test_a_block_that_nobody_owns_and_that_is_not_free_is_said_to_be_held(
    cache: State, figure: Figure
) -> None:
    held = [i for i in range(20) if "held" in words_at(figure, i)]
    assert held == [2] == cache_view(cache).held()


def test_a_strip_is_as_full_as_it_has_tokens_and_shows_them(cache: State, figure: Figure) -> None:
    """Of each owner a bar of its colour."""
    view = cache_view(cache)
    for block_id, tokens in view.fill.items():
        owners = view.owners[block_id]
        cell = cell_of(figure, block_id)
        bars = [
            patch
            for patch in rectangles(figure)
            if patch.get_linewidth() == 0
            and fill(patch) in style.COLORS
            and patch.get_x() == pytest.approx(cell.get_x())
            and inside(cell, patch.get_x() + 1, patch.get_y() + 1)
        ]
        assert len(bars) == len(owners)
        for bar in bars:
            assert bar.get_width() / cell.get_width() == pytest.approx(tokens / 4)
        index = view.tables[owners[0]].block_ids.index(block_id)
        assert {str(token) for token in view.tokens(owners[0], index)} <= words_at(figure, block_id)


def test_a_cell_of_a_larger_pool_is_as_full_as_it_has_tokens(make_cache) -> None:
    view = cache_view(snapshot := make_cache(2, 3, 40))
    filled = [
        patch.get_height() / CELL_H
        for patch in rectangles(block_layout(snapshot))
        if patch.get_linewidth() == 0 and patch.get_width() == 33 and fill(patch) in style.COLORS
    ]
    assert sorted(filled) == pytest.approx(sorted(count / 4 for count in view.fill.values()))


def test_free_lists_stand_in_the_order_in_which_blocks_are_taken(
    cache: State, figure: Figure
) -> None:
    marks = [text for text in texts(figure) if text.get_text() == "next"]
    for label, ids in (("GPU free list", cache.free_gpu), ("CPU free list", cache.free_cpu)):
        x, y = the_text(figure, label).get_position()
        beside = [t for t in texts(figure) if abs(t.get_position()[1] - y) < 3]
        chips = sorted((t for t in beside if t.get_position()[0] > x), key=Text.get_position)
        assert [int(chip.get_text()) for chip in chips] == list(ids)
        above = [mark for mark in marks if 0 < y - mark.get_position()[1] < 20]
        assert len(above) == 1
        assert abs(above[0].get_position()[0] - chips[0].get_position()[0]) < 12


def test_a_long_free_list_says_how_many_it_leaves_out(make_cache) -> None:
    snapshot = make_cache(1, 1, 64)
    assert "+13" in shown(block_layout(snapshot))  # two rows of 25 chips, of 63
    assert len(snapshot.free_gpu) == 63


def test_an_empty_free_list_says_so() -> None:
    full = cache_of(2, 1, 0, {"A": ((0,), (1, 2))}, ())
    assert the_text(block_layout(full), "empty")


def test_what_lies_on_the_cpu_is_hatched(figure: Figure) -> None:
    hatched = [patch for patch in rectangles(figure) if patch.get_hatch()]
    blocks, entries, strips, swatch, legend = 2, 2, 2, 1, 1
    assert len(hatched) == blocks + entries + strips + swatch + legend


def test_highlight_frames_table_entry_cell_and_free_chip(cache: State, figure: Figure) -> None:
    def dashed(drawn: Figure) -> int:
        return sum(patch.get_linestyle() != "-" for patch in rectangles(drawn))

    legend = 1
    assert dashed(figure) == 0
    assert dashed(block_layout(cache, highlight=[5])) == 2 + legend
    assert dashed(block_layout(cache, highlight=[6])) == 2 + legend
    assert dashed(block_layout(cache, highlight=[3])) == 3 + legend  # two tables hold it
    with pytest.raises(ValueError, match=r"block 20 is not in 0\.\.19"):
        block_layout(cache, highlight=[20])


def test_tokens_may_be_words(cache: State, figure: Figure) -> None:
    named = block_layout(cache, tokens={10: "Four"})
    assert shown(named).count("Four") == 3  # A's, B's, and the block's that they share
    shout = block_layout(cache, tokens=lambda token: f"t{token}")
    assert shown(shout).count("t46") == 2  # the sequence's, and the block's
    silent = block_layout(cache, tokens=lambda _: "")
    assert "10" in words_in(figure, rectangles(figure)[1])
    assert "10" not in words_in(silent, rectangles(silent)[1])


def test_wires_are_drawn_while_there_are_few(cache: State, figure: Figure, make_cache) -> None:
    def wires(drawn: Figure) -> int:
        return sum(type(patch).__name__ == "PathPatch" for patch in drawn.axes[0].patches)

    assert wires(figure) == 2 * 8  # each line has a dark one under it
    assert wires(block_layout(cache, arrows=False)) == 0
    assert wires(block_layout(make_cache(4, 4, 32))) == 0


@pytest.mark.parametrize("block_size", [1, 256])
def test_any_block_size_can_be_drawn(make_cache, block_size: int) -> None:
    figure = block_layout(make_cache(2, 3, 16, 4, block_size=block_size), title="t")
    assert overlapping(figure) == []


@pytest.mark.parametrize(("sequences", "blocks"), [(3, 1), (6, 8)])
def test_no_text_covers_another_or_leaves_the_sheet(
    make_cache, sequences: int, blocks: int
) -> None:
    snapshot = make_cache(sequences, blocks, 64, 24, swapped=2)
    figure = block_layout(snapshot, title="A title", highlight=[0])
    assert overlapping(figure) == []
    assert min(text.get_fontsize() for text in texts(figure)) >= 8
    assert figure.get_figwidth() == 9


def test_the_same_bytes_each_time_whatever_matplotlibrc_says(cache: State) -> None:
    first = image_bytes(block_layout(cache, highlight=[1, 5]), ".svg")
    with mpl.rc_context({"font.size": 20, "svg.fonttype": "path", "hatch.linewidth": 5.0}):
        again = image_bytes(block_layout(cache, highlight=[5, 1]), ".svg")
    assert again == first
    assert b"<text" in first


def test_the_null_block_of_v1_is_named() -> None:
    words = shown(block_layout(BlockPool(4, True, 4)))
    assert "null" in words and "held" not in words
    assert "grey: null block" in words
