"""How much of what is looked up several caches find, by the size of the pool: a line for each.

A line's name stands at its right end, so that no legend has to be read.
"""

from collections.abc import Iterable, Mapping

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sources import Plain, cannot
from pagesim.figures.style import Picture

PLOT, NAMES = 190.0, 112.0
LEFT, RIGHT = page.MARGIN + 36.0, page.WIDTH - page.MARGIN - NAMES
MARKS = "osD^v"


@style.picture
def hit_rates(
    source: Plain, *, title: str | None = None, unit: str = "blocks", notes: Iterable[str] = ()
) -> tuple[Picture, str]:
    """Draw hit rates over the size of the pool, to see which cache profits from a larger pool.

    ``source`` has the percentages by name and size: ``{"a queue": {500: 4.1, 1000: 6.2}}``. There
    may be up to five names, each with the same two or more sizes. The sizes, in ``unit``, have a
    logarithmic axis. Errors: see `figures`.
    """
    rates = _checked(source)
    sizes = sorted(next(iter(rates.values())))
    subtitle = f"Percent of what is looked up that is found, by the size of the pool in {unit}"
    figure, sheet, y = page.sheet(title or "What a cache finds", subtitle, PLOT + 30, list(notes))
    high = 1.12 * max(max(line.values()) for line in rates.values()) or 1.0
    up = Scale(0, high, y + PLOT, y)
    across = Scale(sizes[0], sizes[-1], LEFT + 14, RIGHT - 10, log=True)
    for value in page.ticks(high):
        sheet.line([LEFT, RIGHT], [up(value)] * 2, color=page.GRID, width=0.6, behind=True)
        sheet.write(LEFT - 6, up(value), f"{value:g} %", ha="right")
    sheet.line([LEFT, LEFT, RIGHT], [y, y + PLOT, y + PLOT])
    for size in sizes:
        sheet.line([across(size)] * 2, [y + PLOT, y + PLOT + 3])
        sheet.write(across(size), y + PLOT + 10, f"{size:,}")
    ends = page.apart([up(line[sizes[-1]]) for line in rates.values()])
    for place, ((name, line), end) in enumerate(zip(rates.items(), ends, strict=True)):
        color = style.color_of(place)
        xs, ys = [across(size) for size in sizes], [up(line[size]) for size in sizes]
        sheet.line(xs, ys, color=color, width=2)
        sheet.axes.plot(xs, ys, MARKS[place], color=color, markersize=6, clip_on=False)
        text = f"{name}, {line[sizes[-1]]:.1f} %"
        sheet.write(RIGHT + 2, end, text, ha="left", bold=True)
    return figure, " ".join([f"{subtitle}.", *map(_words, rates.items()), *notes])


def _checked(source: Plain) -> Mapping[str, Mapping[int, float]]:
    wanted = "percentages by name and size, as in {'a queue': {500: 4.1, 1000: 6.2}}"
    if not isinstance(source, Mapping) or not all(isinstance(x, Mapping) for x in source.values()):
        raise cannot("hit_rates", source, wanted)
    sizes = [sorted(line) for line in source.values()]
    if not 1 <= len(sizes) <= len(MARKS) or len(sizes[0]) < 2 or sizes != sizes[:1] * len(sizes):
        raise UsageError(f"hit_rates takes 1 to {len(MARKS)} names with the same sizes: {wanted}")
    return source


def _words(named: tuple[str, Mapping[int, float]]) -> str:
    name, line = named
    points = ", ".join(f"{size:,} {line[size]:.1f} %" for size in sorted(line))
    return f"{name}: {points}."
