"""One sequence, one colour: in the player, in the still picture and in the figures."""

import gzip
import re
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.patches import Rectangle

import pagesim
from pagesim.figures import block_layout, style
from pagesim.figures.cache_view import cache_view
from pagesim.player import colors, sheet, static_svg, still
from pagesim.player.cache_view import CacheView
from pagesim.timeline import display, file
from tests.e2e import scenes
from tests.figures.charts import fill

LOOKS = """
return [...run.places.keys()].map((name) => [name, run.look(name).color, run.look(name).pattern]);
"""


def looks(node: Any, run: pagesim.Timeline, **extras: Any) -> dict[Any, tuple[str, str | None]]:
    """What the player paints: sequence → its colour and pattern."""
    found = node(LOOKS, gzip.decompress(file.packed(run, **extras)).decode())
    return {name: (color, pattern) for name, color, pattern in found}


def come_and_go(count: int, first: int = 3) -> tuple[pagesim.Timeline, Any]:
    """Sequences 3, 4, 5, … of which the first one leaves before the last one comes."""
    story = pagesim.Story(gpu_blocks=24, block_size=4)
    writers = [story.arrive([1, 2, 3], name) for name in range(first, first + count - 1)]
    writers[0].leave()
    story.arrive([1, 2, 3], first + count - 1)
    return story.run, story.manager


def test_player_still_picture_and_figures_agree(node: Any) -> None:
    run, manager = come_and_go(5)
    played = looks(node, run)
    assert [color for color, _ in played.values()] == list(colors.OKABE_ITO[:5])

    state = file.state_as_dict(run.at(-1))
    head = file.header(run) | {"sequences": run.sequences}
    drawn = still.Still(CacheView.of(head, state)).looks
    assert drawn == {name: (color, "") for name, (color, _) in played.items()}

    view = cache_view(manager, order=run.sequences)
    assert view.places == cache_view(run).places
    assert {f"s{name}": color for name, (color, _) in played.items() if name != 3} == {
        name: view.color(name) for name in view.tables
    }
    painted = set(map(fill, block_layout(view).findobj(Rectangle)))
    assert painted & set(colors.OKABE_ITO) == set(colors.OKABE_ITO[1:5])


def test_four_sequences_have_four_colours_whatever_their_numbers(node: Any) -> None:
    story = pagesim.Story(gpu_blocks=24, block_size=4)
    for name in (9, 2, 16, 23):
        story.arrive([1], name)
    assert [color for color, _ in looks(node, story.run).values()] == list(colors.OKABE_ITO[:4])
    picture = cache_view(story.manager)
    assert [picture.color(name) for name in picture.tables] == list(colors.OKABE_ITO[:4])


def test_beyond_ten_a_pattern_tells_them_apart(node: Any) -> None:
    run, _ = come_and_go(22)
    played = looks(node, run)
    assert len(set(played.values())) == 22
    rounds = [pattern for _, pattern in played.values()]
    assert rounds == [None] * 10 + ["url(#ps-round-1)"] * 10 + ["url(#ps-round-2)"] * 2
    text = static_svg.static_svg(file.header(run), file.state_as_dict(run.at(-1)), "x")
    assert 'id="p1"' in text and text.count('fill="url(#p1)"') == 1
    assert 'id="p2"' in text and 'id="p3"' not in text


@pytest.mark.parametrize("caching", [False, True])
def test_a_part_of_a_run_has_the_colours_of_the_whole(node: Any, caching: bool) -> None:
    run = scenes.by_chance(3, caching, events=120)
    whole = looks(node, run)
    assert list(whole) == run.sequences
    part = run[60:90]
    played = looks(node, part, sequences=part.sequences)
    tables = {name for i in range(31) for name in part.at(i).tables}
    assert len(tables) > 3
    assert {name: played[name] for name in tables} == {name: whole[name] for name in tables}
    packed, _ = display.packed_for_player(part, "t")
    assert b'"sequences":' in gzip.decompress(packed)
    assert packed != display.packed_for_player(run[:30], "t")[0]


def test_python_and_the_player_have_one_palette(node: Any) -> None:
    palette, patterns = node("return [player.COLORS, player.PATTERNS];")
    assert tuple(palette) == style.COLORS == colors.COLORS
    lines = [sheet.LINES.get(sign, "") for sign in colors.PATTERNS]
    assert patterns == lines
    drawn = [re.sub(r"(.)\1\1", r"\1", style.pattern_of(10 * n)) for n in range(6)]
    assert drawn == list(colors.PATTERNS)


def test_words_on_each_colour_are_read(node: Any) -> None:
    run, _ = come_and_go(len(colors.COLORS))
    script = "return [...run.places.keys()].map((name) => run.look(name).ink);"
    inks = node(script, gzip.decompress(file.packed(run)).decode())
    assert len(inks) == len(colors.COLORS)
    for color, ink in zip(colors.COLORS, inks, strict=True):
        assert style.contrast(color, {"dark": "#1A1A1A", "light": "#FFFFFF"}[ink]) > 4.5, color


# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
# Deficiency", 2009: what eyes without green, or without red, see of linear RGB.
NO_GREEN = [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
NO_RED = [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color: str, eyes: Any) -> Any:
    """A colour in CIELAB, as these eyes see it."""
    given = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(eyes @ linear, 0.0003, 1) / TO_XYZ.sum(1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def nearest(pairs: Iterable[tuple[str, str]]) -> float:
    """How far apart the nearest of these pairs are, for the eyes for which they are nearest."""
    kinds = np.eye(3), np.array(NO_GREEN), np.array(NO_RED)
    return float(
        min(np.linalg.norm(lab(a, eyes) - lab(b, eyes)) for a, b in pairs for eyes in kinds)
    )


def test_what_was_added_to_the_palette_is_as_far_apart_as_what_it_had() -> None:
    added = set(colors.COLORS) - set(colors.OKABE_ITO)
    pairs = [pair for pair in combinations(colors.COLORS, 2) if added & set(pair)]
    assert len(added) == 3 and nearest(pairs) > nearest(combinations(colors.OKABE_ITO, 2))
