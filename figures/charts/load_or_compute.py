"""Whether to load a prefix or to compute it again: milliseconds by length, a panel for each model.

The lines of loading begin at the wait for a step, and the dot is where the line of computing meets
them. A line's name stands at its right end.
"""

from collections.abc import Iterable, Mapping, Sequence

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import cannot
from pagesim.figures.style import Picture
from pagesim.studies.crossover import LoadOrCompute, shown

PLOT, NAMES, GAP = 150.0, 48.0, 34.0
COMPUTE = "compute"
POINTS = 33

Models = Mapping[str, Sequence[LoadOrCompute]]


@style.picture
def load_or_compute(
    source: Models,
    *,
    longest: int = 4_096,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> tuple[Picture, str]:
    """Draw how long loading a prefix and computing it again take, up to ``longest`` tokens.

    ``source`` has one or more `studies.crossover.LoadOrCompute` by the name of the model: the same
    model on several links. Up to three models fit side by side. Errors: see `figures`.
    """
    _check(source)
    subtitle = (
        "Milliseconds by the length of the prefix in tokens; loading wins to the right of its dot"
    )
    figure, sheet, y = page.sheet(
        title or "When does loading beat computing?", subtitle, PLOT + 54, list(notes)
    )
    wide = (page.ROOM + GAP - 26) / len(source) - GAP
    words = []
    for place, (name, links) in enumerate(source.items()):
        left = page.MARGIN + 26 + place * (wide + GAP)
        sheet.write(left, y + 6, name, ha="left", bold=True)
        crossovers = " and ".join(shown(one.crossover()) for one in links)
        sheet.write(left, y + 17, f"{crossovers} tokens", ha="left", color=style.MUTED)
        _panel(sheet, links, left, left + wide - NAMES, y + 32, longest)
        words.append(f"{name}: {', '.join(_said(one, longest) for one in links)}.")
    return figure, " ".join([f"{subtitle}.", *words, *notes])


def _panel(
    sheet: Sheet,
    links: Sequence[LoadOrCompute],
    left: float,
    right: float,
    y: float,
    longest: int,
) -> None:
    lines = {COMPUTE: [1e3 * links[0].compute(n) for n in _lengths(longest)]}
    for one in links:
        lines[one.link.name] = [1e3 * one.load(n) for n in _lengths(longest)]
    high = 1.08 * max(line[-1] for line in lines.values())
    up, across = Scale(0, high, y + PLOT, y), Scale(0, longest, left, right)
    for value in page.ticks(high):
        sheet.line([left, right], [up(value)] * 2, color=page.GRID, width=0.6, behind=True)
        sheet.write(left - 4, up(value), f"{value:g}", ha="right")
    sheet.line([left, left, right], [y, y + PLOT, y + PLOT])
    for tokens in (0, longest // 2, longest):
        sheet.line([across(tokens)] * 2, [y + PLOT, y + PLOT + 3])
        sheet.write(across(tokens), y + PLOT + 10, f"{tokens:,}")
    ends = page.apart([up(line[-1]) for line in lines.values()])
    for place, ((name, line), end) in enumerate(zip(lines.items(), ends, strict=True)):
        color = style.color_of(place)
        xs = [across(n) for n in _lengths(longest)]
        sheet.line(xs, [up(value) for value in line], color=color, width=2)
        sheet.write(right + 4, end, name, ha="left", bold=name == COMPUTE)
    for place, one in enumerate(links, 1):
        n = one.crossover()
        if n <= longest:
            at = across(n), up(1e3 * one.load(n))
            sheet.axes.plot(*at, "o", color=style.color_of(place), markersize=6, clip_on=False)


def _lengths(longest: int) -> list[float]:
    return [longest * i / (POINTS - 1) for i in range(POINTS)]


def _said(one: LoadOrCompute, longest: int) -> str:
    load, compute = 1e3 * one.load(longest), 1e3 * one.compute(longest)
    return (
        f"over {one.link.name}, loading is faster from {shown(one.crossover())} tokens on; "
        f"{longest:,} tokens take {load:.0f} ms instead of "
        f"{compute:.0f} ms"
    )


def _check(source: Models) -> None:
    wanted = "LoadOrCompute of studies.crossover by the name of the model"
    if not isinstance(source, Mapping):
        raise cannot("load_or_compute", source, wanted)
    if not 1 <= len(source) <= 3 or not all(source.values()):
        raise UsageError(f"load_or_compute takes 1 to 3 models with a link each: {wanted}")
    for links in source.values():
        for one in links:
            if not isinstance(one, LoadOrCompute):
                raise cannot("load_or_compute", one, wanted)
