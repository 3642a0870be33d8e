"""The picture says what is in the snapshot, in words and shapes and not by colour alone."""

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from pagesim.figures import block_layout, style
from pagesim.figures.cache_view import cache_view
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
    """The outline, in one of the pools, of the block with this id."""
    pools = the_text(figure, "GPU pool").get_position()[0] - 1
    below = the_text(figure, "GPU free list").get_position()[1] - 15
    (label,) = [
        text
        for text in texts(figure)
        if text.get_text() == str(block_id)
        and text.get_position()[0] > pools
        and text.get_position()[1] < below
    ]
    outlines = [
        patch
        for patch in rectangles(figure)
        if inside(patch, *label.get_position()) and patch.get_linestyle() == "-"
    ]
    return max(outlines, key=lambda patch: (patch.get_height(), patch.get_linewidth()))


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
        words = words_in(figure, cell_of(figure, block_id))
        label = " ".join(owners.get(block_id, []))
        assert (label in words) if label else words <= {str(block_id), "held"}


def test_shared_blocks_have_a_thick_edge_and_a_count(cache: State, figure: Figure) -> None:
    for block_id in range(cache.num_gpu_blocks):
        cell = cell_of(figure, block_id)
        shared = block_id in {3, 7}
        assert ("×2" in words_in(figure, cell)) == shared  # noqa: RUF001
        assert (cell.get_linewidth() == style.THICK) == shared


def test_a_block_that_nobody_owns_and_that_is_not_free_is_said_to_be_held(
    cache: State, figure: Figure
) -> None:
    held = [i for i in range(20) if "held" in words_in(figure, cell_of(figure, i))]
    assert held == [2] == cache_view(cache).held()


def test_fill_height_is_the_number_of_tokens(cache: State, figure: Figure) -> None:
    for block_id, tokens in cache_view(cache).fill.items():
        cell = cell_of(figure, block_id)
        bottom = cell.get_y() + cell.get_height()
        fills = [
            patch
            for patch in rectangles(figure)
            if patch.get_linewidth() == 0
            and fill(patch) in style.OKABE_ITO
            and inside(cell, patch.get_x() + 1, bottom - 1)
            and patch.get_y() + patch.get_height() == pytest.approx(bottom)
        ]
        assert len(fills) == len(cache_view(cache).owners[block_id])
        for filled in fills:
            assert filled.get_height() / cell.get_height() == pytest.approx(tokens / 4)


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
    slots, entries, cells, swatch, legend = 7, 2, 2, 1, 1
    assert len(hatched) == slots + entries + cells + swatch + legend


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
    assert shown(named).count("Four") == 2  # A's and B's
    shout = block_layout(cache, tokens=lambda token: f"t{token}")
    assert the_text(shout, "t46")
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
