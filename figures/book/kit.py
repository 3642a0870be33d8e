"""What the book's pictures are drawn with: a sheet as wide as a notebook, and few shapes.

A sequence has its colour, a block is a row of slots, what the reader shall look at is framed.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import Any

from pagesim.figures import palette, style
from pagesim.figures import sheet as plain
from pagesim.figures.page import BOLD, wrapped
from pagesim.figures.style import INK, MUTED, PAPER, Box, Picture
from pagesim.files.jsonl import JsonObject

DATA = Path(__file__).parents[1] / "data"
"""What was measured or run elsewhere."""
WIDTH, MARGIN = 540.0, 12.0
INNER = WIDTH - 2 * MARGIN
SMALL, TEXT, HEADING = 10.25, 11.0, 13.5
"""Type in points. A sheet is 720 pixels wide; in a column of 400, its smallest type is 7.6 high."""
LEADING = 17.0
"""From a line of a title to the next."""
PANEL = palette.PANEL
LOOK = "#F0E442"
"""What the reader shall look at, on light and on dark pages."""
COLORS = S0, S1, S2, S3 = style.OKABE_ITO[:4]
"""The colours of the first sequences, as in the player."""
ALICE = "Alice was beginning to get very tired of sitting by"
"""The text of several pictures: ten tokens."""

Point = tuple[float, float]


def data(name: str) -> JsonObject:
    """What was measured or run elsewhere, from its file."""
    found: JsonObject = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return found


def drawing(
    title: str, height: float, *, titled: bool = True
) -> Callable[..., Callable[..., Picture]]:
    """Make a picture of a function that draws on a sheet and returns what it shows in words.

    A title of several lines makes the sheet taller, and what is drawn stays where it is.
    """

    def wrap(draw: Callable[..., str]) -> Callable[..., Picture]:
        @style.picture
        @wraps(draw)
        def drawn(**options: Any) -> tuple[Picture, str]:
            heads = _even(title) if titled else []
            above = LEADING * max(0, len(heads) - 1)
            figure, paper = plain.blank(WIDTH, height + above)
            sheet = Sheet(paper.axes)
            sheet.axes.set_ylim(height, -above)
            figure.heading = title
            for place, words in enumerate(heads):
                y = MARGIN + 8 - above + LEADING * place
                sheet.say(MARGIN, y, words, size=HEADING, ha="left", bold=True)
            return figure, f"{title}. {draw(sheet, **options)}"

        return drawn

    return wrap


@cache
def _even(title: str) -> list[str]:
    """A title in as few lines as it needs, all about equally long."""
    best = wrapped(title, INNER / BOLD, HEADING)
    for room in range(int(INNER / BOLD), 0, -8):
        closer = wrapped(title, room, HEADING)
        if len(closer) > len(best):
            break
        best = closer
    return best


class Sheet(plain.Sheet):
    """What a picture of the book is drawn on: more shapes, and larger type."""

    def say(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = TEXT,
        color: str = INK,
        ha: str = "center",
        bold: bool = False,
    ) -> None:
        """Text around a point, in lines if it has several."""
        lines = text.split("\n")
        for place, words in enumerate(lines):
            down = (place - (len(lines) - 1) / 2) * size * 1.3
            self.write(x, y + down, words, size=size, color=color, ha=ha, bold=bold)

    def note(self, x: float, y: float, text: str, *, color: str = MUTED, ha: str = "left") -> None:
        """Small grey text that begins at a point."""
        self.say(x, y, text, size=SMALL, color=color, ha=ha)

    def foot(self, y: float, text: str) -> None:
        """Small grey lines under a picture, the first one at ``y``."""
        for place, words in enumerate(wrapped(text, INNER, SMALL)):
            self.note(MARGIN, y + 14 * place, words)

    def node(
        self,
        box: Box,
        text: str,
        sub: str = "",
        *,
        fill: str = PAPER,
        width: float = style.THIN,
        bold: bool = True,
        dashed: bool = False,
        size: float = TEXT,
    ) -> None:
        """A box with its name, if it has one, and under it a smaller line."""
        self.rectangle(box, fill=fill, width=width, dashed=dashed)
        x, y = box.center
        ink = style.ink_on(fill)
        rows = len(text.split("\n"))
        if text:
            self.say(x, y - (7 if sub else 0), text, bold=bold, color=ink, size=size)
        if sub:
            color = MUTED if fill in (PAPER, PANEL) else ink
            self.say(x, y + 1 + 6.5 * rows, sub, size=SMALL, color=color)

    def panel(self, box: Box, title: str = "", sub: str = "") -> None:
        """A soft ground for what belongs together."""
        self.rectangle(box, fill=PANEL, edge=None)
        if title:
            self.say(box.x + 9, box.y + 14, title, ha="left", bold=True)
        if sub:
            self.note(box.x + 9, box.y + 29, sub)

    def sides(self, y: float, wide: float, high: float) -> None:
        """The grounds of a server's two sides, at the left and the right margin."""
        self.panel(Box(MARGIN, y, wide, high), "Decides, in ids")
        self.panel(Box(WIDTH - MARGIN - wide, y, wide, high), "Computes, in bytes")

    def step(self, x: float, y: float, number: int) -> None:
        """The dark mark around a point that numbers a step."""
        self.node(Box(x - 9, y - 9, 18, 18), str(number), fill=INK)

    def arrow(
        self,
        *points: Point,
        color: str = INK,
        width: float = 1.3,
        head: bool = True,
        dashed: bool = False,
    ) -> None:
        """A line through points of the sheet, in steps, with its head at the last."""
        xs, ys = [x for x, _ in points], [y for _, y in points]
        self.line(xs, ys, color=color, width=width, dashed=dashed)
        if head:
            (x0, y0), (x, y) = points[-2:]
            length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
            u, v = (x - x0) / length, (y - y0) / length
            back = (x - 6 * u, y - 6 * v)
            corners = [
                (back[0] - 3.2 * v, back[1] + 3.2 * u),
                (back[0] + 3.2 * v, back[1] - 3.2 * u),
            ]
            self.axes.fill(
                *zip((x, y), *corners, strict=True),
                facecolor=color,
                edgecolor=color,
                zorder=2,
                clip_on=False,
            )

    def slots(
        self,
        box: Box,
        words: Sequence[str],
        count: int,
        color: str | Sequence[str],
        *,
        width: float = 1.6,
    ) -> list[Box]:
        """A block: ``count`` slots side by side, the first ones with words."""
        each = box.w / count
        boxes = [Box(box.x + i * each, box.y, each, box.h) for i in range(count)]
        fills = [color] * count if isinstance(color, str) else color
        for place, slot in enumerate(boxes):
            word, fill = (words[place], fills[place]) if place < len(words) else ("", PAPER)
            self.node(slot, word, fill=fill, width=0.6, bold=False, size=SMALL)
        self.rectangle(box, fill=None, width=width)
        return boxes

    def label(self, box: Box, block: int, said: str) -> None:
        """The number of a block over its box, and what is said of it."""
        self.say(box.x, box.y - 10, f"block {block}", ha="left", bold=True)
        self.note(box.x + box.w, box.y - 10, said, ha="right")

    def bracket(self, low: float, high: float, y: float, text: str = "", up: bool = True) -> None:
        """A bracket over a stretch from ``low`` to ``high``, or under it, with its text beyond."""
        sign = 1 if up else -1
        self.line([low, low, high, high], [y, y - 4 * sign, y - 4 * sign, y], color=MUTED, width=1)
        if text:
            rows = len(text.split("\n"))
            self.note((low + high) / 2, y - sign * (5 + 7 * rows), text, ha="center")


def in_blocks(words: Sequence[str], size: int) -> list[Sequence[str]]:
    """Words as blocks hold them, ``size`` in each; the last one may have fewer."""
    return [words[begin : begin + size] for begin in range(0, len(words), size)]


def listed(items: Iterable[int | str]) -> str:
    """Several things in a sentence."""
    *most, last = [str(item) for item in items]
    return f"{', '.join(most)} and {last}" if most else last
