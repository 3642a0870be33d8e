"""Several groups in the still picture and in its words."""

from typing import Any
from xml.etree import ElementTree

import pytest

from pagesim.player.cache_view import CacheView
from pagesim.player.describe import describe
from pagesim.player.groups import groups_in, owner_of
from pagesim.player.static_svg import static_svg
from tests.player import grouped, samples
from tests.player.test_static_svg import paths, texts

FILES = {name: make() for name, make in grouped.RUNS.items()}


def at(name: str, step: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header of a file, and the state at a step."""
    head, events = FILES[name]
    return head, samples.states(head, events)[step]


def drawn(name: str, step: int) -> ElementTree.Element:
    return ElementTree.fromstring(static_svg(*at(name, step), "x"))


def test_groups_of_a_header() -> None:
    assert [group.letter for group in groups_in(FILES["many"][0])] == [
        "F", "W1", "W2", "W3", "S1", "S2"]  # fmt: skip
    groups = groups_in(FILES["three"][0])
    assert [group.label for group in groups] == ["full", "window 8", "state"]
    names = ["r0@0", "0@2", "a@b@1", "a", 7]
    assert [owner_of(name, groups) for name in names] == ["r0", 0, "a@b", "a", 7]
    assert groups_in({}) == () and owner_of("r0@0", ()) == "r0@0"


def test_the_picture_has_a_lane_per_group() -> None:
    words = texts(drawn("three", 12))
    assert {"full", "window 8", "state", "r0: 18 tokens", "r1: 18 tokens"} <= set(words)
    assert words.count("state after 18 tokens") == 2 * 2, "a lane and a block of each request"
    assert words.count("F") == 2 + 8 + 1, "lanes, blocks, the legend"
    assert any(word.startswith("behind") for word in words)
    assert not any("@" in word for word in words)
    assert "r0 r1" in words, "the owners of a shared block"


def test_a_block_is_filled_as_its_group_counts() -> None:
    cache = CacheView.of(*at("three", 12))
    full, window, states = (cache.tables[f"r1@{g}"] for g in range(3))
    assert (full.fill, window.fill, states.fill) == ((4, 4, 4, 4, 2), (0, 0, 4, 4, 2), (0, 0, 8))
    assert cache.states == {13: 18, 10: 18}
    assert cache.size_of(10) == 8 and cache.size_of(1) == cache.block_size == 4
    assert cache.words[16] == ["no", "words"] and 10 not in cache.words
    assert cache.places["r0@2"] == cache.places["r0"] == 0 and cache.places["r1@1"] == 1


@pytest.mark.parametrize("step", [0, 3, 20, 34, 52])
def test_a_large_pool_shows_what_a_block_is_for(step: int) -> None:
    head, state = at("many", step)
    root = ElementTree.fromstring(static_svg(head, state, "x"))
    others = {block for name, ids, *_ in state["tables"] for block in ids
              if not name.endswith("@0")} - {0}  # fmt: skip
    assert paths(root, **{"stroke": "#FFFFFF", "stroke-width": "0.6"}) == len(others)


def test_words() -> None:
    words = describe(*at("three", 12))
    assert "for 3 groups: full, window 8, state." in words
    assert (
        "window 8 in blocks 17, 18, 19, 2 behind the window; state after 18 in block 10." in words
    )
    assert "r0 has 18 tokens" in words and "Running: r0, r1." in words
    assert "11 sequences hold 176 blocks" in describe(*at("many", 34))
    assert "No sequence holds a block." in describe(*at("many", 0))
