"""A sheet of paper for the still picture: boxes, lines and words become a small SVG."""

import re
from collections.abc import Iterable
from html import escape

from pagesim.player.colors import PATTERNS

INK, MUTED, PAPER, HELD, CROWD = "#1A1A1A", "#595959", "#FFFFFF", "#D9D9D9", "#8E95A3"
HATCH = "url(#cpu)"
BOLD = 'font-weight="bold"'
QUIET = f'fill="{MUTED}"'
HALO = f'paint-order="stroke" stroke="{PAPER}" stroke-width="3"'
# The patterns of colors.py as lines in a square of 5.
LINES = {"x": "M0 0L5 5M5 0L0 5", "-": "M0 2.5H5", "\\": "M0 0L5 5", "+": "M0 2.5H5M2.5 0V5",
         "|": "M2.5 0V5"}  # fmt: skip
Look = tuple[str, str]
"""A colour, and the pattern on it, if any."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SIZES = ((12, 7.3), (10, 6.1))
"""Sizes of letters, and how wide one is on average."""
_SQUEEZED, _TIGHT = 'textLength="{:g}" lengthAdjust="spacingAndGlyphs" ', 1.4
"""How a word is made narrower, and how much wider than its room it may be before."""


def clean(text: str) -> str:
    """Text as XML holds it."""
    return escape(_NOT_XML.sub("\ufffd", text))


def short(text: str, most: int) -> str:
    """The beginning of a text."""
    return text if len(text) <= most else text[: most - 1] + "\u2026"


class Sheet:
    """Collects a picture: fills below hatches below edges below texts, equal ones in one path."""

    def __init__(self) -> None:
        self.paths: dict[tuple[int, str], list[str]] = {}
        self.texts: list[str] = []

    def rect(
        self, x: float, y: float, w: float, h: float, fill: str = "none", edge: float = 0.0
    ) -> None:
        box = f"M{x:g} {y:g}h{w:g}v{h:g}h{-w:g}z"
        if fill != "none":
            over = fill.startswith("url(")
            self.path(box, f'fill="{fill}"', int(over))
        if edge:
            self.path(box, f'fill="none" stroke="{INK}" stroke-width="{edge:g}"')

    def pale(self, x: float, y: float, w: float, h: float, fill: str) -> None:
        """A box that is held and still empty."""
        self.path(f"M{x:g} {y:g}h{w:g}v{h:g}h{-w:g}z", f'fill="{fill}" fill-opacity="0.35"', 0)

    def path(self, d: str, look: str, layer: int = 2) -> None:
        self.paths.setdefault((layer, look), []).append(d)

    def paint(self, x: float, y: float, w: float, h: float, look: Look) -> None:
        """A box in a sequence's colour and pattern."""
        color, pattern = look
        self.rect(x, y, w, h, color)
        if pattern:
            self.rect(x, y, w, h, f"url(#p{PATTERNS.index(pattern)})")

    def corner(self, x: float, y: float, *, low: bool) -> None:
        """The sign for computed in the lower right corner, or for cached in the upper one."""
        d, fill = (f"M{x:g} {y:g}h-7l7 {'-' * low}7z", INK if low else PAPER)
        self.path(d, f'fill="{fill}" stroke="{INK}" stroke-width="0.7"', 3)

    def text(self, x: float, y: float, text: str, *, look: str = "", anchor: str = "start") -> None:
        place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
        self.texts.append(f"<text {place}{look and ' ' + look}>{clean(text)}</text>")

    def fitted(self, x: float, y: float, text: str, width: float, look: str = "") -> None:
        """A word in the middle of a width, smaller and narrower if it must be; none beyond that."""
        for (size, em), squeezed in zip((*_SIZES, _SIZES[-1]), ("", "", _SQUEEZED), strict=True):
            most = width * _TIGHT if squeezed else width
            if text and len(text) * em <= most:
                small = f'font-size="{size}" ' if size != _SIZES[0][0] else ""
                narrow = squeezed.format(width)
                self.text(x + width / 2, y, text, look=small + narrow + look, anchor="middle")
                return

    def svg(self, width: float, height: float, title: str, looks: Iterable[Look]) -> str:
        """The whole document."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" fill="{INK}" '
            'font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">'
        )
        used = {pattern for _, pattern in looks if pattern}
        signs = [(f"p{PATTERNS.index(sign)}", LINES[sign]) for sign in PATTERNS if sign in used]
        patterns = [_pattern("cpu", "M0 0V5", turned=True), *(_pattern(*sign) for sign in signs)]
        ground = f'<rect width="{width:g}" height="{height:g}" fill="{PAPER}"/>'
        ordered = sorted(self.paths.items(), key=lambda item: item[0][0])
        paths = [f'<path {look} d="{"".join(d)}"/>' for (_, look), d in ordered]
        defs = f"<defs>{''.join(patterns)}</defs>"
        title = f"<title>{clean(title)}</title>"
        return "".join([head, title, defs, ground, *paths, *self.texts, "</svg>"])


def _pattern(name: str, d: str, *, turned: bool = False) -> str:
    turn = ' patternTransform="rotate(45)"' if turned else ""
    return (
        f'<pattern id="{name}" width="5" height="5" patternUnits="userSpaceOnUse"{turn}>'
        f'<path d="{d}" stroke="{INK}"/></pattern>'
    )
