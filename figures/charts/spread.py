"""Several numbers of ours on one line, beside a published one: as marks, not as a mean alone."""

from collections.abc import Iterable, Mapping

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import cannot
from pagesim.figures.style import Picture
from pagesim.studies.paper import Comparison

NAME, NUMBER = 52.0, 54.0
HEADING, ROW, AXIS, GAP = 18.0, 17.0, 16.0, 11.0
LEFT, RIGHT = page.MARGIN + NAME, page.WIDTH - page.MARGIN - 2 * NUMBER - 10
END = page.WIDTH - page.MARGIN
ROUND = [digit * 10.0**power for power in range(9) for digit in (1, 2, 5)]
HOW_TO_READ = "Circles: ours, one for each run. Diamond: published, a single run."


@style.picture
def spread(
    source: Comparison | Iterable[Comparison],
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> tuple[Picture, str]:
    """Draw counts of several runs beside a published one, to see how much chance there is in each.

    ``source`` is a Comparison with one or more numbers of 1 or more in each row, such as those of
    ``studies.watermark.figure()``, or several, drawn below each other on one logarithmic axis.
    Errors: see `figures`.
    """
    found = [source] if isinstance(source, Comparison) else source
    if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
        raise cannot("spread", source, "a Comparison, or several")
    found = list(found)
    for each in found:
        if not isinstance(each, Comparison):
            raise cannot("spread", each, "a Comparison, or several")
        if any(min(_marks(each, name), default=0) < 1 for name in each.ours):
            raise UsageError("spread draws numbers of 1 or more, at least one in each row")
    if not found:
        raise UsageError("there is nothing to draw: give a Comparison, or several")
    sources = dict.fromkeys(each.source for each in found)
    texts = [" ".join(filter(None, (each.method, each.calibration))) for each in found]
    feet = [HOW_TO_READ, *filter(None, texts), f"Published: {', '.join(sources)}.", *notes]
    subtitle = f"{found[0].unit.capitalize()}, on a logarithmic axis"
    body = sum(HEADING + ROW * len(each.ours) + AXIS + GAP for each in found) - GAP
    figure, sheet, y = page.sheet(title or "Ours and published", subtitle, body, feet)
    along = _scale(found)
    for place, each in enumerate(found):
        sheet.write(page.MARGIN, y + 6, each.title, size=9, ha="left", bold=True)
        if not place:
            for x, words in ((RIGHT + 10 + NUMBER, "mean"), (END, "published")):
                sheet.write(x, y + 6, words, ha="right", color=style.MUTED)
        _panel(sheet, y + HEADING, each, along, style.color_of(place))
        y += HEADING + ROW * len(each.ours) + AXIS + GAP
    return figure, " ".join([f"{subtitle}.", *map(_words, found), *feet])


def _marks(found: Comparison, name: str) -> list[float]:
    return [*found.ours[name].values(), *found.published.get(name, {}).values()]


def _scale(found: Iterable[Comparison]) -> Scale:
    every = [value for each in found for name in each.ours for value in _marks(each, name)]
    return Scale(min(every) / 1.1, max(every) * 1.1, LEFT, RIGHT, log=True)


def _panel(sheet: Sheet, y: float, found: Comparison, along: Scale, color: str) -> None:
    bottom = y + ROW * len(found.ours)
    for value in (value for value in ROUND if along.low <= value <= along.high):
        x = along(value)
        sheet.line([x, x], [y, bottom], color=page.GRID, width=0.6, behind=True)
        sheet.write(x, bottom + 7, f"{value:,.0f}", color=style.MUTED)
    sheet.line([LEFT, LEFT], [y, bottom])
    for name, counts in found.ours.items():
        middle, values = y + ROW / 2, list(counts.values())
        sheet.write(LEFT - 6, middle, name, ha="right")
        places = [along(value) for value in values]
        sheet.line([min(places), max(places)], [middle, middle], color=color, width=1.2)
        level = [middle] * len(places)
        (marks,) = sheet.axes.plot(places, level, "o", color=color, markersize=5, clip_on=False)
        marks.set_markeredgecolor(style.PAPER)
        marks.set_markeredgewidth(0.5)
        sheet.write(RIGHT + 10 + NUMBER, middle, f"{_mean(values):,.0f}", ha="right", bold=True)
        theirs = list(found.published.get(name, {}).values())
        for value in theirs:
            sheet.diamond(along(value), middle)
        words = f"{theirs[0]:,.0f}" if theirs else page.EN_DASH
        sheet.write(END, middle, words, ha="right")
        y += ROW


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _words(found: Comparison) -> str:
    """A panel in words: the extremes, the mean and the published number of every row."""
    rows = []
    for name, counts in found.ours.items():
        values = sorted(counts.values())
        theirs = [f"published {value:,.0f}" for value in found.published.get(name, {}).values()]
        numbers = [f"{values[0]:,.0f} to {values[-1]:,.0f}", f"mean {_mean(values):,.0f}", *theirs]
        rows.append(f"{name} {', '.join(numbers)}")
    return f"{found.title}: {'; '.join(rows)}."
