"""The pool over time: what its slots are used for as requests come and go, one panel per policy.

A run has more iterations than a page has points, so time is cut into equal slices, and each shows
its mean, integrated rather than sampled. The area of a colour is the same as if every iteration
were drawn, and no short peak is missed or enlarged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import Run, Source, log_of, note_of, parts_of, runs, serve
from pagesim.figures.style import Box, Picture
from pagesim.simulation.waste import WasteLog
from pagesim.timeline import Timeline

By = Literal["seconds", "iterations"]
Floats = NDArray[np.float64]

PANEL, HEADING, GAP, AXIS = 124.0, 17.0, 14.0, 28.0
LEFT, RIGHT = page.MARGIN + 34.0, page.WIDTH - page.MARGIN - 40.0
SLICES = 240
BATCH = "requests at once"


@dataclass(frozen=True, slots=True)
class Slices:
    """A log cut into slices.

    ``edges [n + 1]``, and ``means [n]`` for "batch" and for each part, in percent of the pool.
    """

    edges: Floats
    means: dict[str, Floats]

    @property
    def end(self) -> float:
        return float(self.edges[-1])

    def mean(self, name: str) -> float:
        """The mean of the whole run, every slice with its width."""
        return float(np.average(self.means[name], weights=np.diff(self.edges)))


def cut(log: WasteLog, *, by: By = "seconds", width: float | None = None) -> Slices:
    """Means over equal slices of a run, exact to rounding; the last one ends where the run ends.

    By "seconds" a row of the log has the weight of its duration; by "iterations" all have the same,
    and waiting has none. ``width`` is in the same unit, a 240th of the run by default. UsageError
    for a log without iterations.
    """
    if not log.iterations:
        raise UsageError("the log has no iteration: there is nothing to draw")
    until = log.seconds if by == "seconds" else np.cumsum(log.column("batch") > 0).astype(float)
    lasted = np.diff(until, prepend=0.0)
    end = float(until[-1])
    width = end / SLICES if width is None else width
    whole = np.arange(max(1, int(np.ceil(end / width - 1e-9)))) * width
    edges = np.append(whole, end)
    means = {}
    for name in (*log.parts, "batch"):
        values = log.column(name) * (1.0 if name == "batch" else 100 / log.pool)
        sums = np.concatenate([[0.0], np.cumsum(values * lasted)])
        reached = np.interp(edges, np.concatenate([[0.0], until]), sums)
        means[name] = np.diff(reached) / np.diff(edges)
    return Slices(edges, means)


@style.picture
def occupancy_timeline(
    source: Source,
    *,
    by: By | None = None,
    policies: Iterable[str] = ("max", "paged"),
    title: str | None = None,
    notes: Iterable[str] = (),
    **options: Any,
) -> tuple[Picture, str]:
    """Draw the pool over time, one panel per run, to see memory fill and requests come and go.

    ``source`` is runs, a file or a trace (see `figures`), but not means, which have no time. ``by``
    measures time in "seconds" of the run's clock (the default) or in "iterations", which are steps;
    a Timeline has no clock. All panels share one time axis, and one batch axis in requests. Errors:
    see `figures`.
    """
    found = runs("occupancy_timeline", source, serve(policies, options))
    steps = [name for name, run in found.items() if isinstance(run, Timeline)]
    if steps and by == "seconds":
        raise UsageError(f"{steps[0]!r} is a timeline, which has no clock: take by='iterations'")
    by = by or ("iterations" if steps else "seconds")
    slices, notes = _cut_alike(found, by), list(notes) or note_of(found)
    figure = _draw(slices, by, title or "Where the slots are, over time", notes)
    return figure, _words(slices, by, notes)


def _words(runs: Mapping[str, Slices], by: By, notes: Iterable[str]) -> str:
    """How long each run takes, its mean parts, and its mean batch."""
    sentences = [f"Where the slots of the cache are over {by}, one panel a policy."]
    for policy, slices in runs.items():
        parts = ", ".join(f"{name} {slices.mean(name):.1f}" for name in parts_of([slices.means]))
        sentences.append(
            f"{page.policy_name(policy)} takes {slices.end:,.0f} {by} and runs "
            f"{slices.mean('batch'):.1f} {BATCH} on average; in percent of the slots: {parts}."
        )
    return " ".join([*sentences, *notes])


def _cut_alike(found: Mapping[str, Run], by: By) -> dict[str, Slices]:
    """All runs in slices of one width: a 240th of the longest run."""
    logs = {name: log_of(run) for name, run in found.items()}
    whole = {name: cut(log, by=by) for name, log in logs.items()}
    width = max(slices.end for slices in whole.values()) / SLICES
    return {name: cut(log, by=by, width=width) for name, log in logs.items()}


def _draw(runs: Mapping[str, Slices], by: By, title: str, notes: Iterable[str]) -> Picture:
    body = 16.0 + len(runs) * (HEADING + PANEL + GAP) - GAP + AXIS
    how = (
        f"Each of {SLICES} equal slices of the time shows the mean of what lies in it. "
        "The line with an edge is the number of requests at once."
    )
    subtitle = f"Percent of the cache's slots (left), {BATCH} (right), over {by}"
    figure, sheet, y = page.sheet(title, subtitle, body, [how, *notes])
    sheet.legend(LEFT, y, parts_of(slices.means for slices in runs.values()))
    y += 16
    end = max(slices.end for slices in runs.values())
    most = max(4.0, 1.1 * max(float(slices.means["batch"].max()) for slices in runs.values()))
    across = Scale(0, end, LEFT, RIGHT)
    for policy, slices in runs.items():
        y += HEADING
        _panel(sheet, page.policy_name(policy), slices, across, y, most, by)
        y += PANEL + GAP
    y -= GAP
    for value in page.ticks(end, 8):
        x = across(value)
        sheet.line([x, x], [y, y + 3])
        sheet.write(x, y + 10, f"{value:,g}")
    sheet.write((LEFT + RIGHT) / 2, y + 21, by, color=style.MUTED)
    return figure


def _panel(
    sheet: Sheet, name: str, slices: Slices, across: Scale, y: float, most: float, by: By
) -> None:
    up = Scale(0, 100, y + PANEL, y)
    sheet.write(LEFT, y - 7, name, size=9, ha="left", bold=True)
    summary = f"{slices.mean('batch'):.1f} {BATCH} on average, done after {slices.end:,.0f} {by}"
    start = LEFT + style.text_width(name, 9) * page.BOLD + 12
    sheet.write(start, y - 7, summary, ha="left")
    sheet.write(page.WIDTH - page.MARGIN, y - 7, "requests", ha="right", color=style.MUTED)
    for percent in (0, 50, 100):
        sheet.line([LEFT - 3, LEFT], [up(percent)] * 2)
        sheet.write(LEFT - 5, up(percent), f"{percent}", ha="right")
    _areas(sheet, slices, across, up)
    sheet.rectangle(Box(LEFT, y, across(slices.end) - LEFT, PANEL), fill=None)
    up = Scale(0, most, y + PANEL, y)
    for value in page.ticks(most, 4):
        sheet.line([RIGHT, RIGHT + 3], [up(value)] * 2)
        sheet.write(RIGHT + 5, up(value), f"{value:g}", ha="left")
    xs, ys = _steps(slices.edges, slices.means["batch"], across, up)
    sheet.line(xs, ys, color=style.PAPER, width=3.4)
    sheet.line(xs, ys, width=1.4)


def _areas(sheet: Sheet, slices: Slices, across: Scale, up: Scale) -> None:
    """The parts on top of each other, in steps: each slice has one height."""
    below = np.zeros(len(slices.edges) - 1)
    for name in parts_of([slices.means]):
        above = below + slices.means[name]
        xs, tops = _steps(slices.edges, above, across, up)
        _, floors = _steps(slices.edges, below, across, up)
        look = style.PARTS[name]
        if slices.means[name].any():
            sheet.axes.fill(
                [*xs, *reversed(xs)],
                [*tops, *reversed(floors)],
                facecolor=look.color,
                edgecolor=style.PAPER,
                hatch=look.hatch or None,
                linewidth=0,
            )
        below = above


def _steps(
    edges: Floats, values: Floats, across: Scale, up: Scale
) -> tuple[Sequence[float], Sequence[float]]:
    """The corners of a staircase on the sheet: two for each slice."""
    xs = [across(float(edge)) for edge in np.repeat(edges, 2)[1:-1]]
    ys = [up(float(value)) for value in np.repeat(values, 2)]
    return xs, ys
