"""What an engine would log, over time: its gauges, its hit rate, and what the gauges leave out."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import Run, cannot
from pagesim.figures.style import Box, Picture
from pagesim.simulation import Simulation
from pagesim.simulation.metrics import Metrics

SHARES, BETWEEN, COUNTS, HEADING, GAP, AXIS = 96.0, 13.0, 52.0, 17.0, 12.0, 28.0
LEFT, RIGHT = page.MARGIN + 40.0, page.WIDTH - page.MARGIN - 118.0
MOST = 400
"""Points of a line; each is the mean of the steps that it stands for."""

Floats = NDArray[np.float64]
LINES = {"usage": style.INK, "hit_rate": style.SAVED}
QUEUES = {"running": style.INK, "waiting": "#D55E00", "swapped": "#56B4E9"}
NAMED = {"usage": "usage, by blocks", "slots": "slots with a token", "hit_rate": "prefix hit rate"}


@style.picture
def engine_metrics(
    source: Simulation | Mapping[str, Simulation],
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> tuple[Picture, str]:
    """Draw what vLLM's engine would log in one run or several, and how many slots hold a token.

    ``source`` is a Simulation with ``metrics=True``, or several by name. UsageError for one
    without.
    """
    runs = {source.policy: source} if isinstance(source, Simulation) else source
    if not isinstance(runs, Mapping):
        raise cannot("engine_metrics", source, "a Simulation with metrics=True, or several by name")
    if not runs:
        raise UsageError("there is no run to draw: give a Simulation with metrics=True")
    found = {str(name): _metrics_of(run) for name, run in runs.items()}
    words, notes = [_words(name, its) for name, its in found.items()], list(notes)
    title = title or "What the engine logs, step by step"
    body = len(found) * (HEADING + SHARES + BETWEEN + COUNTS + AXIS + GAP)
    subtitle = "Percent of the blocks, of their slots, and of the prompts' tokens; and requests"
    figure, sheet, y = page.sheet(title, subtitle, body, notes)
    for name, its in found.items():
        _panel(sheet, name, its, y)
        y += HEADING + SHARES + BETWEEN + COUNTS + AXIS + GAP
    return figure, " ".join([f"{subtitle}.", *words, *notes])


def _metrics_of(run: Run) -> Metrics:
    if not isinstance(run, Simulation):
        raise cannot("engine_metrics", run, "a Simulation with metrics=True, or several by name")
    if run.metrics is None or not len(run.metrics):
        raise UsageError("the run has no metrics: simulate it with metrics=True")
    return run.metrics


def _words(name: str, metrics: Metrics) -> str:
    its = metrics.summary()
    parts = [f"usage {100 * its['usage']['median']:.1f} %"]
    if its["slots"]["median"] is not None:
        parts.append(f"slots with a token {100 * its['slots']['median']:.1f} %")
    queues = [each for each in QUEUES if its[each]["median"] is not None]
    parts += [f"{each} {its[each]['median']:g}" for each in queues]
    rate = f"; hit rate at the end {100 * its['hit_rate']:.1f} %" if its["hit_rate"] > 0 else ""
    return f"{name}, medians: {', '.join(parts)}{rate}; {its['preemptions']:g} preemptions."


def _panel(sheet: Sheet, name: str, metrics: Metrics, y: float) -> None:
    sheet.write(LEFT, y + 8, name, size=9, ha="left", bold=True)
    seconds = metrics.column("seconds")
    across = Scale(0, float(seconds[-1]) or 1.0, LEFT, RIGHT)
    top, low = y + HEADING, y + HEADING + SHARES
    up = Scale(0, 100, low, top)
    shares = {each: 100 * metrics.column(each) for each in NAMED}
    if not (shares["hit_rate"] > 0).any():
        del shares["hit_rate"]
    if not np.isfinite(shares["slots"]).any():
        del shares["slots"]
    else:
        xs, ys = _thin(seconds, shares["slots"])
        points = [(across(x), up(value)) for x, value in zip(xs, ys, strict=True)]
        corners = [(points[0][0], low), *points, (points[-1][0], low)]
        look = style.PARTS["token"].color
        sheet.axes.fill(*zip(*corners, strict=True), facecolor=look, linewidth=0)
    for each in LINES.keys() & shares.keys():
        _line(sheet, seconds, shares[each], across, up, LINES[each], dashed=each == "hit_rate")
    _axis(sheet, up, top, low, (0, 50, 100))
    _names(sheet, top, {NAMED[each]: (LINES.get(each), each == "hit_rate") for each in shares})
    top, low = low + BETWEEN, low + BETWEEN + COUNTS
    counts = {each: metrics.column(each) for each in QUEUES}
    counts = {each: c for each, c in counts.items() if np.isfinite(c).all() and c.any()}
    most = max((float(c.max()) for c in counts.values()), default=1.0)
    up = Scale(0, most, low, top)
    for each, values in counts.items():
        _line(sheet, seconds, values, across, up, QUEUES[each])
    _axis(sheet, up, top, low, (0, most))
    _names(sheet, top, {each: (QUEUES[each], False) for each in counts})
    for value in page.ticks(float(seconds[-1]), 8):
        sheet.line([across(value)] * 2, [low, low + 3])
        sheet.write(across(value), low + 10, f"{value:,g}")
    sheet.write((LEFT + RIGHT) / 2, low + 21, "seconds", color=style.MUTED)


def _axis(sheet: Sheet, up: Scale, top: float, low: float, values: Iterable[float]) -> None:
    sheet.rectangle(Box(LEFT, top, RIGHT - LEFT, low - top), fill=None)
    for value in values:
        sheet.line([LEFT - 3, LEFT], [up(value)] * 2)
        sheet.write(LEFT - 5, up(value), f"{value:,g}", ha="right")


def _names(sheet: Sheet, top: float, looks: Mapping[str, tuple[str | None, bool]]) -> None:
    """What the lines are, and the area, which has no line."""
    for row, (name, (color, dashed)) in enumerate(looks.items()):
        y = top + 9 + 14 * row
        if color is None:
            area = style.PARTS["token"].color
            sheet.rectangle(Box(RIGHT + 8, y - 5, 14, 9), fill=area, edge=None)
        else:
            sheet.line([RIGHT + 8, RIGHT + 22], [y, y], color=color, width=1.5, dashed=dashed)
        sheet.write(RIGHT + 27, y, name, ha="left")


def _line(
    sheet: Sheet,
    seconds: Floats,
    values: Floats,
    across: Scale,
    up: Scale,
    color: str,
    dashed: bool = False,
) -> None:
    xs, ys = (list(part) for part in _thin(seconds, values))
    points = [across(x) for x in xs], [up(value) for value in ys]
    sheet.line(*points, color=style.PAPER, width=3.0)
    sheet.line(*points, color=color, width=1.5, dashed=dashed)


def _thin(seconds: Floats, values: Floats) -> tuple[Floats, Floats]:
    """At most `MOST` points: means of equally many steps."""
    each = -(-len(values) // MOST)
    cuts = np.arange(0, len(values), each)
    sizes = np.diff(np.append(cuts, len(values)))
    return np.add.reduceat(seconds, cuts) / sizes, np.add.reduceat(values, cuts) / sizes
