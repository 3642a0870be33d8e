"""The still picture and its words: well-formed whatever the names are, and saying what there is."""

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from pagesim.player.cache_view import CacheView
from pagesim.player.colors import COLORS
from pagesim.player.describe import describe
from pagesim.player.sheet import CROWD
from pagesim.player.static_svg import static_svg
from pagesim.player.still import Still
from pagesim.timeline.display import still_picture
from tests.e2e.test_layout import rows
from tests.e2e.test_more import crowd
from tests.player import samples, tiered
from tests.timeline.scenes import told

SVG = "{http://www.w3.org/2000/svg}"


def drawn(sample: Any, step: int, caption: str = "a caption") -> ElementTree.Element:
    head, events = sample
    return ElementTree.fromstring(static_svg(head, samples.states(head, events)[step], caption))


def texts(root: ElementTree.Element) -> list[str]:
    return [node.text or "" for node in root.iter(f"{SVG}text")]


def paths(root: ElementTree.Element, **wanted: str) -> int:
    """How many boxes there are among the paths with these attributes."""
    found = [node for node in root.iter(f"{SVG}path") if wanted.items() <= node.attrib.items()]
    return sum(node.attrib["d"].count("M") for node in found)


def test_it_shows_tables_words_and_lists() -> None:
    words = texts(drawn(samples.sharing(), 3))
    assert "a caption" in words
    assert {"s0", "b", "GPU pool", "CPU pool", "Logical blocks", "Block table"} <= set(words)
    assert words.count("block") == words.count("slots") + 1 == 3, "a heading on every column"
    assert words[words.index("GPU free list") - 1] == "\u25be next"
    assert words[words.index("GPU free list") + 1 :][:3] == ["3", "4", "5"]
    assert words[words.index("CPU free list") + 1 :][:3] == ["6", "7", "8"]
    assert words[words.index("b") + 1] == "4 tokens"
    # b's last word was copied with its block; in the logical blocks and in the physical one.
    assert (words.count("ten"), words.count("12"), words.count("13")) == (2 + 1, 2 + 2, 1 + 1)
    assert "s0 b" in words, "the owners of the shared block"


def test_fill_hatch_and_thick_edges_follow_the_state() -> None:
    before, after = drawn(samples.sharing(), 3), drawn(samples.sharing(), 6)
    legend = 1
    assert paths(before, fill="url(#cpu)") == legend
    assert paths(after, fill="url(#cpu)") == legend + 2 * 3  # b's blocks: row, entry, strip
    thick = {"stroke-width": "2.4"}
    assert paths(before, **thick) == legend + 1 + 2, "block 0, and the fronts of both lists"
    assert paths(after, **thick) == legend + 2
    assert paths(before, fill=COLORS[0]) > 0


def test_the_fill_says_how_many_tokens() -> None:
    """Of a strip it is the width, of a box the height."""
    widths = [
        max(float(w) for node in drawn(samples.many(4), step).iter(f"{SVG}path")
            if node.get("fill") == COLORS[0]
            for w in re.findall(r"h([\d.]+)v20", node.attrib["d"]))
        for step in (1, 2)
    ]  # fmt: skip
    assert widths[0] * 2 == widths[1]
    heights = [
        max(float(h) for node in drawn(samples.many(200), step).iter(f"{SVG}path")
            if node.get("fill") == COLORS[0]
            for h in re.findall(r"M372 [\d.]+h[\d.]+v([\d.]+)", node.attrib["d"]))
        for step in (1, 2)
    ]  # fmt: skip
    assert heights[0] * 2 == heights[1]


def test_cached_blocks_and_the_null_block_are_marked() -> None:
    root = drawn(samples.caching(), 8)
    words = texts(root)
    assert {"upper corner: cached", "grey: cached, unused", "lower corner: computed"} <= set(words)
    assert words.count("unused") == 3, "all of the GPU"
    assert paths(root, fill="#D9D9D9") >= 3 + 3, "in the pool and in the evictor"
    nothing = samples.header(3, 0, 2, [])
    state = samples.empty_state(3, 0) | {"null": 0}
    state["lists"][0].remove(0)
    words = texts(ElementTree.fromstring(static_svg(nothing, state, "x")))
    assert {"null", "crossed: null block", "no sequence holds any blocks"} <= set(words)


def test_contiguous_memory_is_a_strip() -> None:
    run = rows(4)
    state = run.at(10)
    root = ElementTree.fromstring(still_picture(run[:10]))
    words = texts(root)
    assert {"GPU memory, in slots", "row of slots", "pale: reserved"} <= set(words)
    (_, table), *_ = state.tables.items()
    assert f"{4 * table.block_ids[0]}\u2013{4 * table.block_ids[-1] + 3}" in words
    boxes = [
        tuple(map(float, box))
        for node in root.iter(f"{SVG}path") if node.get("stroke-width") == "0.9"
        for box in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v19h", node.attrib["d"])
    ]  # fmt: skip
    gaps = [b[0] - a[0] - a[2] for a, b in pairwise(boxes) if a[1] == b[1]]
    assert len(boxes) == sum(state.pools.values()) and set(gaps) == {0}


def test_of_many_sequences_only_those_of_the_step_have_colours() -> None:
    run = crowd()
    root = ElementTree.fromstring(still_picture(run.annotate(opens=40)))
    fills = {COLORS[place % 10]: 0 for place in range(40)}
    swatch = "h11v13h-11z"
    for node in root.iter(f"{SVG}path"):
        if (fill := node.get("fill")) in fills:
            fills[fill] += node.attrib["d"].count("M") - node.attrib["d"].count(swatch)
    (table,) = (table for name, table in run.at(40).tables.items() if name == 39)
    own = 2 * len(
        table.block_ids
    )  # in the pool, and in the table, which is drawn though it is late
    assert fills == {color: own * (color == COLORS[39 % 10]) for color in fills}
    assert paths(root, fill=CROWD) > len(run.at(40).tables) and "s39" in texts(root)
    few = ElementTree.fromstring(still_picture(run[:20]))
    assert paths(few, fill=CROWD) == 0, "twenty are told apart"


def test_a_word_too_wide_is_squeezed_and_a_longer_one_left_out() -> None:
    root = ElementTree.fromstring(still_picture(told("a beginning incomprehensibilities")))
    squeezed = {node.text for node in root.iter(f"{SVG}text") if node.get("textLength")}
    assert squeezed == {"beginning"} and "incomprehensibilities" not in texts(root)


def test_a_long_caption_takes_two_lines() -> None:
    words = texts(drawn(samples.sharing(), 3, caption="why " * 80))
    assert words[0].startswith("why why") and words[1].endswith("why \u2026")


@pytest.mark.parametrize("step", range(len(samples.HOSTILE) + 1))
def test_hostile_names_are_text(step: int) -> None:
    root = drawn(samples.hostile(), step, caption=samples.HOSTILE[0] + "\x00\ud800")
    assert {node.tag for node in root.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "title", "defs", "pattern", "path", "rect", "text")
    }
    assert any("<img" in text for text in texts(root))


def test_a_large_state_is_counted_and_stays_small() -> None:
    ids, tokens = list(range(1000)), list(range(2000))
    state = samples.empty_state(1001, 1)
    state |= {"tables": [[7, ids, tokens]], "refs": [[i, 1] for i in ids]}
    state["lists"][0] = [1000]
    text = static_svg(samples.header(1001, 1, 2, []), state, "many")
    assert len(text) < 60_000
    assert "+992" in texts(ElementTree.fromstring(text))


def test_words() -> None:
    head, events = samples.sharing()
    found = samples.states(head, events)
    assert describe(head, found[0]) == (
        "A cache of 6 GPU and 3 CPU blocks with 2 slots each. No sequence holds a block. "
        "GPU free list: 6 blocks, 0 in front. CPU free list: 3 blocks, 6 in front. Running: s0, b."
    )
    assert "s0 has 3 tokens in blocks 0, 1." in describe(head, found[3])
    assert "Shared: block 0." in describe(head, found[3])
    caching, events = samples.caching()
    end = describe(caching, samples.states(caching, events)[8])
    assert "Cached, but without an owner: blocks 1, 0, 2." in end
    assert "GPU free list: empty." in end


def test_a_run_that_ends_empty_shows_the_last_step_with_blocks() -> None:
    run = told("Alice was beginning to get", leave=True)
    shown = " ".join(ElementTree.fromstring(still_picture(run)).itertext())
    assert "beginning" in shown and "no sequence holds any blocks" not in shown


def test_owners_fill_and_words_of_shared_cached_and_null_blocks() -> None:
    """Block 1 is known in full to the first; block 3 is cached, and nobody's."""
    head = samples.header(5, 0, 2, []) | {"tokens": {"7": "seven"}, "caching": True}
    tables = [["a", [0, 1, 2], [5, 6, 7, 8, -9], 6], ["b", [0, 1], [5, 6, 7], 3]]
    counts = [[0, 2], [1, 2], [2, 1]]
    state = samples.empty_state(5, 0) | {"tables": tables, "refs": counts}
    state |= {"null": 0, "cached": [3], "lists": [[3, 4], *state["lists"][1:]]}
    cache = CacheView.of(head, state)
    assert cache.owners == {0: ["a", "b"], 1: ["a", "b"], 2: ["a"]}
    assert cache.fill == {0: 0, 1: 2, 2: 2}
    assert cache.words == {0: [], 1: ["seven", "8"], 2: ["·", "?"]}
    assert (cache.shared(), cache.held()) == ([0, 1], [])
    still = Still(cache)
    still.box(3, 0, 0, 8, 6, across=False)
    assert (0, 'fill="#D9D9D9"') in still.sheet.paths, "cached, and therefore full"
    assert ElementTree.fromstring(static_svg(head, state, "x")) is not None


# -- a second tier ---------------------------------------------------------------------------------


TIERED = {name: make() for name, make in tiered.RUNS.items()}
LOADING = next(i + 1 for i, e in enumerate(TIERED["two"][1]) if e["event"] == "load")


@pytest.mark.parametrize("name", ["one", "two"])
def test_the_second_tier_lies_below_the_gpu(name: str) -> None:
    words = {}
    for node in drawn(TIERED[name], LOADING).iter(f"{SVG}text"):
        words.setdefault(node.text or "", float(node.attrib["y"]))
    blocks = [words[f"{block}"] for block in (8, 9, 16)]
    assert blocks[0] < blocks[1] == blocks[2]
    assert "copy" in words and "x stores 6 blocks" in words and "b loads 2 blocks" in words
    assert words["waiting"] < words["kv_holding_waiting"] < words["running"]


def test_what_is_being_copied_is_hatched_and_has_a_line() -> None:
    legend, rows = 1, 2 * 2  # b's two logical blocks, and their entries
    before, after = (drawn(TIERED["two"], LOADING + more) for more in (-1, 0))
    assert paths(before, fill="url(#cpu)") == legend + 6
    assert paths(after, fill="url(#cpu)") == legend + 6 + 2 + rows
    line = {"stroke-width": "1.7"}
    assert (paths(before, **line), paths(after, **line)) == (6, 8)
    assert paths(drawn(TIERED["two"], len(TIERED["two"][1])), **line) == 0


def test_a_large_tier_is_drawn_small() -> None:
    world = tiered.World(1000, 200, 4)
    root = drawn(world.file(), 0)
    assert "CPU pool: 200 chunks of 4 blocks, LRU" in texts(root)


def test_a_second_tier_in_words() -> None:
    head, events = TIERED["two"]
    words = describe(head, samples.states(head, events)[LOADING])
    assert "The CPU is a second tier of 4 chunks." in words
    assert "b loads 2 blocks: 9 to 1, 10 to 2." in words
    cache = CacheView.of(head, samples.states(head, events)[LOADING])
    assert [block for block in range(17) if cache.is_pending(block)] == [1, 2, *range(11, 17)]
