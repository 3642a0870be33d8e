"""The map of threads says what the data say, cell by cell, and in words."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from pagesim.figures import alt_text, style
from pagesim.figures.charts.thread_map import FOLLOWED, LEFT, thread_map
from pagesim.figures.encode import img_tag
from pagesim.figures.sheet import blank
from tests.figures.charts import fill, rectangles, shown

DATA = Path(__file__).parents[2] / "figures" / "data" / "thread_map.json"


def committed() -> dict[str, Any]:
    """The worked case: blocks of 16, heads of 128, halves, 128 threads."""
    return json.loads(DATA.read_text())


def large() -> dict[str, Any]:
    """A larger head: more vecs than fit, three digits everywhere."""
    data, made = committed(), committed()
    made["offset_of_vec"] = [0, 1] * 64
    for number in range(16, 64):
        made["k"].append({**data["k"][0], "vec": [2 * number, 2 * number + 1] * 16})
    for number in range(8, 16):
        rows = [16 * number + lane // 2 for lane in range(32)]
        made["v"].append({**data["v"][0], "row": rows})
    return made


@cache
def wide() -> Figure:
    """Tests only read it."""
    return thread_map(large(), title="A title")


data = pytest.fixture(committed)


@pytest.fixture(scope="module")
def drawn() -> Figure:
    """The worked case; tests only read it."""
    return thread_map(committed(), title="A title")


def labelled(figure: Figure, label: str) -> list[list[str]]:
    """The words right of each occurrence of a label, from left to right."""
    found = [text for text in figure.axes[0].texts if text.get_text() == label]
    return [words_beside(figure, text) for text in sorted(found, key=lambda t: t.get_position()[1])]


def words_beside(figure: Figure, label: Text) -> list[str]:
    x, y = label.get_position()
    row = [
        text
        for text in figure.axes[0].texts
        if abs(text.get_position()[1] - y) < 1.5 and text.get_position()[0] > x
    ]
    return [text.get_text() for text in sorted(row, key=lambda text: text.get_position()[0])]


def fills(figure: Figure, label: str, occurrence: int) -> list[str]:
    """The colours of the cells right of a label."""
    found = [text for text in figure.axes[0].texts if text.get_text() == label]
    y = sorted(text.get_position()[1] for text in found)[occurrence]
    tops = [(patch.get_y(), patch) for patch in rectangles(figure)]
    cells = [patch for top, patch in tops if top <= y <= top + patch.get_height()]
    return [fill(patch) for patch in sorted(cells, key=lambda patch: patch.get_x())]


def test_every_number_is_that_of_the_data(data: dict[str, Any], drawn: Figure) -> None:
    keys, values = labelled(drawn, "load 0")
    assert keys == [str(vec) for vec in data["k"][0]["vec"]]
    assert values == [str(row) for row in data["v"][0]["row"]]
    assert labelled(drawn, "load 7") == [[str(row) for row in data["v"][7]["row"]]]
    assert labelled(drawn, "load 15") == [[str(vec) for vec in data["k"][15]["vec"]]]
    assert labelled(drawn, "warp") == [[str(warp) for warp in data["warp_of_block"]]]
    offsets, *lanes = labelled(drawn, "lane")
    assert offsets == [str(offset) for offset in data["offset_of_vec"]]
    assert lanes == [[str(lane) for lane in range(32)]] * 2
    assert labelled(drawn, "token") == [[str(token) for token in range(16)]]
    assert labelled(drawn, "from token") == [["0", "8"] * 16]


def test_lane_0_collects_the_rows_that_articles_get_wrong(drawn: Figure) -> None:
    first = [labelled(drawn, f"load {i}")[-1][0] for i in range(8)]
    assert first == ["0", "16", "32", "48", "64", "80", "96", "112"]
    assert "lane 0 reads rows 0, 16, 32, 48, 64, 80, 96, 112, in 8 loads" in alt_text(drawn)


def test_lane_0_is_followed_and_neighbours_differ(data: dict[str, Any], drawn: Figure) -> None:
    pair = [style.color_of(0), style.color_of(1)]
    for occurrence in (0, 1):
        assert fills(drawn, "load 0", occurrence) == [FOLLOWED, *(pair * 16)[1:]]
    grey = [style.HELD if warp == 0 else style.PAPER for warp in data["warp_of_block"]]
    assert fills(drawn, "warp", 0) == grey


def test_lanes_without_a_row_and_many_lines(data: dict[str, Any]) -> None:
    """The first have an empty cell, the second are counted."""
    data["v"][7]["row"][30:] = [None, None]
    lines = [{"line": line, "bytes": [8, 0, 0, 0]} for line in range(32)]
    data["footprints"]["k_token_major"] = lines
    figure = thread_map(data)
    assert len(labelled(figure, "load 7")[0]) == 30
    assert fills(figure, "load 7", 0)[30:] == [style.PAPER] * 2
    assert "+16" in shown(figure)
    assert [patch.get_height() for patch in rectangles(figure)].count(12 * 8 / 32) == 16
    sentence = "K if it lay token after token: 32 lines, 32 sectors, 25% of the bytes used"
    assert sentence in shown(figure)


def test_sectors_are_filled_as_far_as_they_are_read(drawn: Figure) -> None:
    words = shown(drawn)
    assert "K as it lies: 2 lines, 8 sectors, 100% of the bytes used" in words
    assert "K if it lay token after token: 16 lines, 16 sectors, 50% of the bytes used" in words
    assert "V as it lies: 4 lines, 16 sectors, 100% of the bytes used" in words
    heights = [
        patch.get_height()
        for patch in rectangles(drawn)
        if patch.get_linewidth() == 0 and patch.get_x() >= LEFT - 1
    ]
    assert heights == [12.0] * 8 + [6.0] * 16 + [12.0] * 16


def test_long_columns_are_cut_in_the_middle() -> None:
    words = shown(wide())
    assert "load 63" in words
    assert "load 15" in words
    assert "load 9" not in words
    assert labelled(wide(), "load 15")[0][0] == "240"


def test_data_that_lack_a_part_are_refused(data: dict[str, Any]) -> None:
    del data["v"], data["config"]
    with pytest.raises(ValueError, match=r"no config, v: .*kernels\.simt\.thread_map\(config\)"):
        thread_map(data)


def test_a_lane_that_is_pointed_at_tells_its_loads(data: dict[str, Any], drawn: Figure) -> None:
    keys, values = (drawn.spots[:32], drawn.spots[32:])
    assert len(keys) == len(values) == 32
    a, b, c, *_, last = (load["vec"][0] for load in data["k"])
    loads, token = len(data["k"]), data["k"][0]["token"][0]
    sentence = f"Lane 0, {loads} loads: vecs {a}, {b}, {c}, \N{HORIZONTAL ELLIPSIS}, {last}; "
    assert keys[0][1] == f"{sentence}key of token {token}."
    for lane, (box, _) in enumerate(keys):
        assert box.x == LEFT + lane * box.w
    tag = img_tag(drawn)
    assert tag.count('class="pagesim-spot"') == 64
    assert all(0 <= float(part) <= 100 for part in re.findall(r"(?:left|top): ([\d.]+)%", tag))


def test_other_figures_have_no_spots(data: dict[str, Any]) -> None:
    assert "pagesim-spot" not in img_tag(style.picture(lambda: (blank(9, 9)[0], "words"))())
