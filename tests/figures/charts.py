"""Reading a chart back: its words, its bars, and where the marks of published numbers are."""

from functools import lru_cache

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from pagesim.studies.paper import Comparison


def shown(figure: Figure) -> list[str]:
    """All texts of a figure."""
    return [text.get_text() for text in figure.axes[0].texts]


def rectangles(figure: Figure) -> list[Rectangle]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]


def areas(figure: Figure) -> list[Polygon]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, Polygon)]


def fill(patch: Rectangle | Polygon) -> str:
    return mpl.colors.to_hex(patch.get_facecolor()).upper()


def diamonds(figure: Figure) -> list[tuple[float, float]]:
    """The middles of the diamonds, in points."""
    marks = [mark.get_xy() for mark in areas(figure)]
    return [tuple((mark.min(axis=0) + mark.max(axis=0)) / 2) for mark in marks]


def comparison(
    ours: dict[str, dict[str, float]], published: dict[str, dict[str, float]]
) -> Comparison:
    """A figure of a paper that nobody wrote."""
    return Comparison("made up", "%", ours, published, "by hand", "nothing was calibrated")


@lru_cache(maxsize=4)
def places(figure: Figure) -> list[tuple[Text, Bbox]]:
    """Each text with the place that it takes, in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()  # or each text makes one of its own
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    return [(text, text.get_window_extent(renderer)) for text in texts]


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that print over each other, and texts that leave the sheet."""
    words, sheet = [text.get_text() for text, _ in places(figure)], figure.bbox
    x0, y0, x1, y1 = np.array([box.extents for _, box in places(figure)]).reshape(-1, 4).T
    leaves = (x0 < 0) | (y0 < 0) | (x1 > sheet.width) | (y1 > sheet.height)
    meet = (x0[:, None] <= x1) & (x0 <= x1[:, None]) & (y0[:, None] <= y1) & (y0 <= y1[:, None])
    outside = [(words[i], "outside") for i in np.flatnonzero(leaves)]
    return outside + [(words[a], words[b]) for a, b in np.argwhere(np.triu(meet, 1))]
