"""One look for every figure: the palette, its dark theme, the type size, and how a cell is drawn.

The rules of every picture in the course: one colour per sequence, and never colour alone. A cell
has an outline (the palette's yellow is 1.3:1 on white), fill height says how many of a block's
slots hold tokens, a hatch means the CPU pool, a thick edge and a count mean shared, a dashed frame
means *look here*. Where sequences are not told apart, a colour stands for what becomes of the
slots: PARTS and SAVED.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.textpath import TextPath
from matplotlib.typing import ColorType

from pagesim.errors import UsageError
from pagesim.figures import palette
from pagesim.figures.encode import img_tag
from pagesim.player import colors
from pagesim.player.cache_view import CacheView

Theme = Literal["light", "dark"]

OKABE_ITO, COLORS, color_of = colors.OKABE_ITO, colors.COLORS, colors.color_of
INK, MUTED, PAPER, HELD = palette.INK, palette.MUTED, palette.PAPER, palette.HELD
MARK = palette.MARK
DARK, RC = palette.DARK, palette.RC
# The palette stays on a dark page, so text on it must stay too: these look like INK and PAPER, but
# are not replaced.
ON_LIGHT, ON_DARK = "#1A1A19", "#FFFFFE"
CPU_HATCH = "////"
TIMES = "\N{MULTIPLICATION SIGN}"
SAVED = "#009E73"  # what sharing and caching save

WIDTH, MARGIN = 648.0, 10.0  # nine inches: what a notebook's output has room for
TEXT = 8.0
HEADING = 10.0
TITLE = 12.0
THIN, THICK = 0.8, 2.2


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a sheet: left, top, width, height, in points."""

    x: float
    y: float
    w: float
    h: float

    @property
    def center(self) -> tuple[float, float]:
        return self.x + self.w / 2, self.y + self.h / 2

    def grown(self, by: float) -> "Box":
        """The same rectangle with `by` points more on every side."""
        return Box(self.x - by, self.y - by, self.w + 2 * by, self.h + 2 * by)


@dataclass(frozen=True, slots=True)
class Look:
    """How a kind of slots is drawn in every picture: a colour, and a hatch that goes with it."""

    color: str
    hatch: str = ""


# Blue: tokens, present or to come; warm: what is lost; green: what may be found again; white: free.
# Dark and light alternate, so that neighbours also differ in grey.
PARTS = {
    "token": Look("#0072B2"),
    "reserved": Look("#56B4E9", "\\\\\\\\"),
    "internal": Look("#D55E00", "xxxx"),
    "external": Look("#E69F00", "----"),
    "cached": Look(SAVED, "...."),
    "free": Look(PAPER),
}


def pattern_of(index: int) -> str:
    """The hatch that tells sequences of one colour apart: none for the first ten."""
    return 3 * colors.pattern_of(index)


def hatch_of(cache: CacheView, block_id: int) -> str:
    """The hatch of a block outside the first pool, in which the model computes."""
    return CPU_HATCH if cache.is_away(block_id) else ""


def luminance(color: str) -> float:
    """Relative luminance of ``#RRGGBB``, 0 to 1 (WCAG 2.1, "relative luminance")."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.1, "contrast ratio")."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def ink_on(color: str) -> str:
    """Dark or white text, whichever is easier to read on `color`, on a dark page as well."""
    inks = (INK, PAPER) if color in DARK else (ON_LIGHT, ON_DARK)
    return max(inks, key=lambda ink: contrast(ink, color))


@lru_cache(maxsize=4096)
def text_width(text: str, size: float = TEXT) -> float:
    """How wide `text` is in DejaVu Sans, in points; the usual substitutes are narrower."""
    if not text.strip():
        return 0.0
    path = TextPath((0, 0), text, size=size, prop=FontProperties(family="DejaVu Sans"))
    return float(path.get_extents().width)


class Picture(Figure):
    """A figure with alternative text: every function of `figures` returns one.

    ``alt`` is that text, and ``heading`` the title. If ``theme`` is None, an SVG follows the page
    that shows it, and other formats are light.
    """

    alt = ""
    heading = ""
    theme: Theme | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.spots: list[tuple[Box, str]] = []
        """Places that say something when they are pointed at in a notebook."""

    def _repr_html_(self) -> str | None:
        return img_tag(self) if self.alt else None


def picture(draw: Callable[..., tuple[Picture, str]]) -> Callable[..., Picture]:
    """Turn a function that returns a sheet, and what it shows in words, into one of `figures`.

    A reader's matplotlibrc does not change the look. Adds the keyword ``theme``.
    """

    @wraps(draw)
    def drawn(*args: Any, theme: Theme | None = None, **options: Any) -> Picture:
        if theme not in (None, "light", "dark"):
            raise UsageError(f"theme must be 'light', 'dark' or None, not {theme!r}")
        with mpl.rc_context(RC):
            figure, words = draw(*args, **options)
        title = options.get("title")
        figure.alt = f"{title.rstrip('.')}. {words}" if title else words
        figure.theme = theme
        if theme == "dark":
            _darken(figure)
        return figure

    signature = inspect.signature(draw)
    theme = inspect.Parameter(
        "theme", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Theme | None"
    )
    order = sorted([*signature.parameters.values(), theme], key=lambda one: one.kind)
    drawn.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=order, return_annotation="Picture"
    )
    return drawn


def _darken(figure: Figure) -> None:
    """Replace the neutral colours, as the style sheet in an SVG does."""

    def turned(color: ColorType) -> ColorType:
        return DARK.get(to_hex(color).upper(), color) if mpl.colors.to_rgba(color)[3] else color

    colors = {Patch: ("facecolor", "edgecolor"), Text: ("color",)}
    colors[Line2D] = ("color", "markerfacecolor", "markeredgecolor")
    for artist in figure.findobj():
        for kind, names in colors.items():
            if isinstance(artist, kind):
                artist.set(**{name: turned(getattr(artist, f"get_{name}")()) for name in names})
        if isinstance(artist, Text) and (pill := artist.get_bbox_patch()) is not None:
            pill.set(facecolor=turned(pill.get_facecolor()))
