"""The still picture and its words: well-formed whatever the names are, and saying what there is."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from pagesim.player.colors import OKABE_ITO as COLORS
from pagesim.player.describe import describe
from pagesim.player.static_svg import static_svg
from tests.player import samples

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


def test_it_shows_tables_ids_tokens_and_the_free_lists() -> None:
    words = texts(drawn(samples.sharing(), 3))
    assert "a caption" in words
    assert {"s0", "b", "GPU pool", "CPU pool"} <= set(words)
    assert words[words.index("GPU free list:") + 1] == "3, 4, 5"
    assert words[words.index("CPU free list:") + 1] == "6, 7, 8"
    assert words[words.index("b") + 1] == "4"  # tokens


def test_fill_hatch_and_thick_edges_follow_the_state() -> None:
    before, after = drawn(samples.sharing(), 3), drawn(samples.sharing(), 6)
    assert paths(before, fill="url(#cpu)") == 0
    assert paths(after, fill="url(#cpu)") == 2 * 2  # b's two blocks, in its line and in the pool
    thick = {"stroke-width": "2.4"}
    assert paths(before, **thick) == 2 + 1  # block 0 in both lines and in the pool
    assert paths(after, **thick) == 0
    assert paths(before, fill=COLORS[0]) > 0


def test_the_fill_height_says_how_many_tokens() -> None:
    one = drawn(samples.many(4), 1)
    two = drawn(samples.many(4), 2)
    heights = [
        max(abs(float(h)) for node in root.iter(f"{SVG}path") if node.get("fill") == COLORS[0]
            for h in re.findall(r"M37\d [\d.]+h\d+v([\d.]+)", node.attrib["d"]))
        for root in (one, two)
    ]  # fmt: skip
    assert heights[0] * 2 == heights[1]


@pytest.mark.parametrize("step", range(len(samples.HOSTILE) + 1))
def test_hostile_names_are_text(step: int) -> None:
    root = drawn(samples.hostile(), step, caption=samples.HOSTILE[0] + "\x00\ud800")
    assert {node.tag for node in root.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "title", "defs", "pattern", "path", "rect", "text")
    }
    assert any("<img" in text for text in texts(root))


def test_a_large_state_is_counted_and_stays_small() -> None:
    head, events = samples.many(2000)
    state = samples.states(head, events)[-1]
    text = static_svg(head, state, "many")
    assert len(text) < 60_000
    assert "+992" in texts(ElementTree.fromstring(text))


def test_the_same_bytes_each_time() -> None:
    head, events = samples.caching()
    state = samples.states(head, events)[7]
    assert static_svg(head, state, "x") == static_svg(dict(head), dict(state), "x")


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
