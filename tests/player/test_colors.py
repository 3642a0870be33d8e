"""One sequence, one colour: in the player, in the still picture and in the figures."""

import gzip
import re
from typing import Any

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
