"""Reading a chart back: its words, its bars, and where the marks of published numbers are."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from pagesim.studies.paper import Comparison


def shown(figure: Figure) -> list[str]:
    """All texts of a figure."""
    return [text.get_text() for text in figure.axes[0].texts]


def rectangles(figure: Figure) -> list[Rectangle]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]


def fill(patch: Rectangle | Polygon) -> str:
    return mpl.colors.to_hex(patch.get_facecolor()).upper()


def diamonds(figure: Figure) -> list[tuple[float, float]]:
    """The middles of the diamonds, in points."""
    marks = [patch.get_xy() for patch in figure.axes[0].patches if isinstance(patch, Polygon)]
    return [tuple((mark.min(axis=0) + mark.max(axis=0)) / 2) for mark in marks]


def comparison(
    ours: dict[str, dict[str, float]], published: dict[str, dict[str, float]]
) -> Comparison:
    """A figure of a paper that nobody wrote."""
    return Comparison("made up", "%", ours, published, "by hand", "nothing was calibrated")
