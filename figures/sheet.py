"""What every picture is drawn on: a sheet measured in points, and the shapes that it can have.

A point is 1/72 inch and y grows downwards, so that a type size and the box around it have the same
unit.
"""

from collections.abc import Callable, Iterable

from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Polygon, Rectangle
from matplotlib.path import Path

from pagesim.figures import style
from pagesim.figures.style import INK, MARGIN, MARK, MUTED, PAPER, TEXT, THIN, Box, Picture


class Sheet:
    """The only axes of a picture, which cover it, and what is drawn there."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes

    def rectangle(
        self,
        box: Box,
        *,
        fill: str | None = PAPER,
        edge: str | None = INK,
        width: float = THIN,
        hatch: str = "",
        dashed: bool = False,
    ) -> None:
        """One rectangle; without `edge` it has no outline, without `fill` it is transparent."""
        self.axes.add_artist(
            Rectangle(
                (box.x, box.y),
                box.w,
                box.h,
                facecolor=fill or "none",
                edgecolor=edge or (INK if hatch else "none"),
                linewidth=width if edge else 0.0,
                hatch=hatch or None,
                linestyle=(0, (3, 1.5)) if dashed else "-",
                clip_on=False,
            )
        )

    def path(
        self,
        outline: Path,
        *,
        fill: str | None = None,
        edge: str | None = INK,
        width: float = THIN,
        hatch: str = "",
    ) -> None:
        """Any outline, as `rectangle` draws its own."""
        color, line = fill or "none", edge or "none"
        patch = PathPatch(outline, facecolor=color, edgecolor=line, linewidth=width)
        patch.set(hatch=hatch or None, clip_on=False)
        self.axes.add_artist(patch)

    def line(
        self,
        xs: Iterable[float],
        ys: Iterable[float],
        *,
        color: str = INK,
        width: float = THIN,
        dashed: bool = False,
        behind: bool = False,
    ) -> None:
        """A line through points of the sheet, on top or ``behind`` what is filled."""
        self.axes.plot(
            list(xs),
            list(ys),
            color=color,
            linewidth=width,
            linestyle=(0, (4, 2)) if dashed else "-",
            clip_on=False,
            zorder=0.5 if behind else 2,
        )

    def write(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = TEXT,
        color: str = INK,
        ha: str = "center",
        bold: bool = False,
        pill: bool = False,
    ) -> None:
        """Text at a point; a `pill` is a white ground that keeps it readable on a fill or hatch."""
        self.axes.text(
            x,
            y,
            text,
            fontsize=size,
            color=color,
            ha=ha,
            va="center_baseline",
            fontweight="bold" if bold else "normal",
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.8} if pill else None,
            parse_math=False,
            clip_on=False,
        )

    def part(self, box: Box, name: str) -> None:
        """A part of the pool in its look; white between neighbours and in the hatch."""
        look = style.PARTS[name]
        wide = min(box.w, box.h) > 3  # a sliver would be all edge and hatch
        hatch = look.hatch if wide else ""
        self.rectangle(box, fill=look.color, edge=PAPER, width=0.6 if wide else 0.0, hatch=hatch)

    def legend(self, x: float, y: float, names: Iterable[str]) -> None:
        """The parts of the pool by name, left to right in stacking order."""
        for name in names:
            box = Box(x, y, 14, 9)
            self.part(box, name)
            self.rectangle(box, fill=None, width=0.6)
            self.write(x + 18, y + 4.5, name, ha="left")
            x += 18 + style.text_width(name) + 16

    def number(self, box: Box, text: str, name: str) -> None:
        """Write a number on a part of the pool, without the hatch behind it, if it fits."""
        width = style.text_width(text)
        if width + 4 > box.w or box.h < TEXT + 2:
            return
        (x, y), look = box.center, style.PARTS[name]
        if look.hatch:
            ground = Box(x - width / 2 - 2, y - 5, width + 4, 10)
            self.rectangle(ground, fill=look.color, edge=None)
        self.write(x, y, text, color=style.ink_on(look.color))

    def left_axis(
        self, x: float, up: Callable[[float], float], values: Iterable[float], unit: str = ""
    ) -> None:
        """Numbers beside an axis at ``x``, each with a short line."""
        for value in values:
            self.write(x - 6, up(value), f"{value:g}{unit}", ha="right")
            self.line([x - 3, x], [up(value)] * 2)

    def diamond(self, x: float, y: float) -> None:
        """The mark of a published number."""
        xs, ys = [x - 4, x, x + 4, x, x - 4], [y, y - 4, y, y + 4, y]
        self.axes.fill(xs, ys, facecolor=PAPER, edgecolor=INK, linewidth=1.1, zorder=3)

    def fill_from_below(
        self, box: Box, fraction: float, colors: Iterable[str], hatch: str = ""
    ) -> None:
        """Fill the lower `fraction` of a box; several owners are side by side in it."""
        shades = list(colors)
        height = box.h * min(max(fraction, 0.0), 1.0)
        if not shades or height == 0:
            return
        each = box.w / len(shades)
        for place, color in enumerate(shades):
            part = Box(box.x + place * each, box.y + box.h - height, each, height)
            self.rectangle(part, fill=color, edge=None, hatch=hatch)

    def frame(self, box: Box) -> None:
        """The dashed frame that means *look here*, outside the box's own outline."""
        self.rectangle(box.grown(2.6), fill=None, edge=MARK, width=1.4, dashed=True)

    def triangle(self, x: float, y: float, *, color: str = INK) -> None:
        """A small arrowhead that points down and ends at (x, y)."""
        corners = [(x, y), (x - 3, y - 4), (x + 3, y - 4)]
        shape = Polygon(corners, closed=True, facecolor=color, edgecolor=INK, linewidth=0.5)
        self.axes.add_artist(shape)

    def arrowhead(self, x: float, y: float, *, color: str = INK) -> None:
        """A small arrowhead that points to the right and ends at (x, y)."""
        corners = [(x, y), (x - 4, y - 3), (x - 4, y + 3)]
        shape = Polygon(corners, closed=True, facecolor=color, edgecolor=INK, linewidth=0.5)
        self.axes.add_artist(shape)

    def level_arrow(self, start: float, end: float, y: float) -> None:
        """A thin arrow to the right; it only leads the eye."""
        head = [end - 3.5, end, end - 3.5], [y - 2.2, y, y + 2.2]
        for xs, ys in (([start, end], [y, y]), head):
            self.axes.plot(xs, ys, color=MUTED, linewidth=0.8, clip_on=False)


def blank(width: float, height: float, title: str | None = None) -> tuple[Picture, Sheet]:
    """An empty picture and its sheet, with the title on top."""
    figure = Picture(figsize=(width / 72, height / 72), dpi=100, facecolor=PAPER)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    sheet = Sheet(axes)
    if title:
        figure.heading = title
        sheet.write(MARGIN, MARGIN + 8, title, size=style.TITLE, ha="left", bold=True)
    return figure, sheet
