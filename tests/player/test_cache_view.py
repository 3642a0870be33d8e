"""What every picture asks of a state of the format: owners, fill and words."""

from __future__ import annotations

from xml.etree import ElementTree

from pagesim.player.cache_view import CacheView
from pagesim.player.static_svg import Still, static_svg
from tests.player import samples


def test_owners_fill_and_words_of_shared_cached_and_null_blocks() -> None:
    """Block 1 is known in full to the first; block 3 is cached, and nobody's."""
    head = samples.header(5, 0, 2, []) | {"tokens": {"7": "seven"}, "caching": True}
    tables = [["a", [0, 1, 2], [5, 6, 7, 8, 9], 6], ["b", [0, 1], [5, 6, 7], 3]]
    counts = [[0, 2], [1, 2], [2, 1]]
    state = samples.empty_state(5, 0) | {"tables": tables, "refs": counts}
    state |= {"null": 0, "cached": [3], "lists": [[3, 4], *state["lists"][1:]]}
    cache = CacheView.of(head, state)
    assert cache.owners == {0: ["a", "b"], 1: ["a", "b"], 2: ["a"]}
    assert cache.fill == {0: 0, 1: 2, 2: 2}
    assert cache.words == {0: [], 1: ["seven", "8"], 2: ["9", "?"]}
    assert (cache.shared(), cache.held()) == ([0, 1], [])
    still = Still(cache)
    still.box(3, 0, 0, 8, 6, across=False)
    assert (0, 'fill="#D9D9D9"') in still.sheet.paths, "cached, and therefore full"
    assert ElementTree.fromstring(static_svg(head, state, "x")) is not None
