"""Bars above published numbers: a bar is ours, the diamond under it the paper's; both have labels.

A hatched bar that extends a solid one is a second number of ours; whiskers at a diamond show how
far off ours may be.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.style import Box, Picture

NAME, NUMBER = 92.0, 54.0
HEADING, ROW, BAR, LANE, AXIS, GAP = 18.0, 25.0, 10.0, 9.0, 16.0, 11.0
HATCH = "////"
LEFT, RIGHT = page.MARGIN + NAME, page.WIDTH - page.MARGIN - 2 * NUMBER - 10
END = page.WIDTH - page.MARGIN


@dataclass(frozen=True, slots=True)
class Row:
    """A number of ours and a published one; ``upper`` is a second one of ours, above the first."""

    name: str
    ours: float
    published: float | None = None
    upper: float | None = None
    within: float | None = None

    @property
    def numbers(self) -> str:
        """Ours, written out."""
        low, high = f"{self.ours:.1f}", f"{self.ours if self.upper is None else self.upper:.1f}"
        return low if low == high else f"{low}{page.EN_DASH}{high}"

    @property
    def words(self) -> str:
        """The row in words."""
        theirs = "" if self.published is None else f" (published {self.published:.1f})"
        return f"{self.name} {self.numbers}{theirs}"


@dataclass(frozen=True, slots=True)
class Panel:
    """Rows on one scale from 0 to ``high``; ``pale`` ones are reported, but not for comparison."""

    heading: str
    rows: Sequence[Row]
    high: float
    color: str
    pale: bool = False

    @property
    def height(self) -> float:
        return HEADING + ROW * len(self.rows) + AXIS

    @property
    def words(self) -> str:
        """The panel in words."""
        return f"{self.heading}: {', '.join(row.words for row in self.rows)}."


def draw_panels(
    title: str, subtitle: str, panels: Sequence[Panel], notes: Sequence[str]
) -> tuple[Picture, str]:
    """Panels below each other, the columns of numbers named once; and the same in words."""
    body = sum(panel.height + GAP for panel in panels) - GAP
    figure, sheet, y = page.sheet(title, subtitle, body, notes)
    for place, panel in enumerate(panels):
        sheet.write(page.MARGIN, y + 6, panel.heading, size=9, ha="left", bold=True)
        if not place:
            for x, name in ((RIGHT + 10 + NUMBER, "simulated"), (END, "published")):
                sheet.write(x, y + 6, name, ha="right", color=style.MUTED)
        _rows(sheet, y + HEADING, panel)
        y += panel.height + GAP
    return figure, " ".join([f"{subtitle}.", *(panel.words for panel in panels), *notes])


def _rows(sheet: Sheet, y: float, panel: Panel) -> None:
    along = Scale(0, panel.high, LEFT, RIGHT)
    bottom = y + ROW * len(panel.rows)
    for value in page.ticks(panel.high):
        x = along(value)
        sheet.line([x, x], [y, bottom], color=page.GRID, width=0.6, behind=True)
        sheet.write(x, bottom + 7, f"{value:g}", color=style.MUTED)
    for row in panel.rows:
        _row(sheet, y + ROW / 2, row, along, panel)
        y += ROW
    sheet.line([LEFT, LEFT], [bottom - ROW * len(panel.rows), bottom])


def _row(sheet: Sheet, y: float, row: Row, along: Scale, panel: Panel) -> None:
    sheet.write(LEFT - 6, y, row.name, ha="right")
    top = y - (BAR + LANE) / 2
    for value, full in ((row.upper, False), (row.ours, not panel.pale)):
        if value is not None:
            box = Box(LEFT, top, along(value) - LEFT, BAR)
            fill = panel.color if full else style.PAPER
            hatch = "" if full else HATCH
            sheet.rectangle(box, fill=fill, edge=panel.color, hatch=hatch)
    sheet.write(RIGHT + 10 + NUMBER, y, row.numbers, ha="right", bold=not panel.pale)
    if row.published is None:
        sheet.write(END, y, page.EN_DASH, ha="right", color=style.MUTED)
        return
    sheet.write(END, y, f"{row.published:.1f}", ha="right")
    y = top + BAR + LANE / 2 + 1
    if row.within is not None:
        ends = [along(row.published - row.within), along(row.published + row.within)]
        sheet.line(ends, [y, y])
        for x in ends:
            sheet.line([x, x], [y - 3, y + 3])
    sheet.diamond(along(row.published), y)
