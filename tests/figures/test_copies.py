"""Arrows of copies: at their steps, as wide as their blocks, and joined where they are pairs."""

import pytest

from pagesim.errors import UsageError
from pagesim.figures import copies
from pagesim.figures.charts.copies import IN, LEAST, OUT, PER_BLOCK
from pagesim.studies.second_tier import Move, Played
from tests.figures.charts import fill, shown

SWAPPED = Played(
    20,
    2,
    100,
    (
        Move(3, 0, True, 5),
        Move(4, 1, True, 4),
        Move(8, 0, False, 5),
        Move(16, 1, False, 4),
    ),
)
"""Two requests are away, one while the other is."""

TIERED = Played(40, 0, 100, (Move(2, 0, True, 300), Move(20, 1, False, 13), Move(20, 2, False, 7)))


def arrows(figure: object) -> list[tuple[str, float, float]]:
    """The colour, the place and the width of the shaft of each."""
    found = []
    for patch in figure.axes[0].patches:  # type: ignore[attr-defined]
        if fill(patch) in (OUT, IN):
            points = patch.get_path().vertices
            found.append((fill(patch), points[3][0], points[5][0] - points[1][0]))
    return found


def test_an_arrow_stands_at_its_step_and_is_as_wide_as_its_blocks() -> None:
    found = arrows(copies({"a": TIERED}))
    assert [color for color, *_ in found] == [OUT, IN]
    (_, out, wide), (_, back, narrow) = found
    assert (wide, narrow) == (pytest.approx(300 * PER_BLOCK), pytest.approx(LEAST))
    assert back > out


def test_lanes_have_the_same_steps() -> None:
    both = arrows(copies({"a": SWAPPED, "b": TIERED}))
    alone = arrows(copies({"b": TIERED}))
    assert [x for _, x, _ in both[4:]] == [x for _, x, _ in alone]
    xs = [x for _, x, _ in both]
    assert (xs[2] - xs[0]) / (xs[5] - xs[4]) == pytest.approx((8 - 3) / (20 - 2))


def brackets(figure: object) -> list[float]:
    """The heights of the lines above the CPU."""
    lines = figure.axes[0].lines  # type: ignore[attr-defined]
    return [line.get_ydata()[1] for line in lines if len(line.get_xdata()) == 4]


def test_pairs_are_joined_and_do_not_cover_each_other() -> None:
    first, second = brackets(copies({"a": SWAPPED}))
    assert first != second
    assert brackets(copies({"a": TIERED})) == []
    lost = Played(20, 1, 100, SWAPPED.moves[:3])
    assert brackets(copies({"a": lost})) == []


def test_words() -> None:
    figure = copies({"mine": SWAPPED}, title="Two copies", notes=["Made up."])
    assert {"mine", "CPU", "GPU", "step", "9 blocks out, 9 back in 20 steps"} <= set(shown(figure))


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(TypeError, match="copies cannot draw a list"):
        copies([SWAPPED])
    with pytest.raises(TypeError, match="copies cannot draw an int"):
        copies({"a": 3})
    for source in ({}, dict.fromkeys("abcdef", SWAPPED)):
        with pytest.raises(UsageError, match="1 to 5"):
            copies(source)
