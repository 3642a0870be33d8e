"""One moment of a race: the same requests on the same memory, served in two ways, on one clock.

A slot has the same area on both sides, whether memory is handed out in blocks or in regions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import Run, Source, runs, serve
from pagesim.figures.style import Box, Picture
from pagesim.journal.effects import Name
from pagesim.journal.state import State
from pagesim.simulation import Simulation
from pagesim.timeline import Timeline

CELLS, COLUMNS, CELL = 128, 16, 15.0
AREA, LANE, GAP, NAMES = 62.0, 9.0, 20.0, 22.0
SIDE = (page.ROOM - GAP) / 2
SLICES = 150
"""The most states of which the memory over time is drawn."""


@dataclass(frozen=True, slots=True)
class Side:
    """A run at the end of each of its steps."""

    name: str
    ends: Sequence[float]
    states: Sequence[State]
    order: Sequence[Name]
    """The sequences in the order of their colours."""

    def at(self, seconds: float) -> State:
        """Its state at a time: that of the last step that had ended."""
        done = sum(end <= seconds for end in self.ends)
        return self.states[max(done - 1, 0)]

    def score(self, seconds: float) -> str:
        """How many run, and what is written of all slots."""
        if seconds >= self.ends[-1]:
            return f"all have finished, after {self.ends[-1]:.2f} s"
        state = self.at(seconds)
        held, written = (sum(part) for part in zip(*shares(state).values(), strict=True))
        slots = usable(state)
        empty = 100 * (held - written) / slots
        return (
            f"{len(state.queues['running'])} run, {100 * written / slots:.0f} % is written, "
            f"{empty:.0f} % held and empty"
        )


def usable(state: State) -> int:
    """The slots of the first pool that can be held: not those of V1's null block."""
    blocks = next(iter(state.pools.values())) - (state.null_block is not None)
    return blocks * state.block_size


def shares(state: State) -> dict[Name, tuple[float, float]]:
    """The slots that each sequence holds, and those of them that are written."""
    size = state.block_size
    found: dict[Name, tuple[float, float]] = {}
    for name, table in state.tables.items():
        own = [b for b in table.block_ids if b != state.null_block]
        held = sum(size / state.ref_counts[block] for block in own)
        full = min(table.num_slots / (size * len(own)), 1.0) if own else 0.0
        found[name] = held, held * full
    return found


@style.picture
def race(
    source: Source,
    *,
    at: float | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> tuple[Picture, str]:
    """Draw one moment of two runs: both memories, who holds them over time, and who waits or runs.

    ``source`` is two simulations with ``record=True``, or their timelines, of the same requests.
    ``at`` is the moment in seconds, by default after a third of the longer run. UsageError for
    other than two runs, for a run without a clock, and for memories of different sizes; for other
    errors see `figures`.
    """
    found = runs("race", source, serve((), {}))
    if len(found) != 2:
        raise UsageError(f"race draws two runs, not {len(found)}")
    sides = [_side(name, run) for name, run in found.items()]
    sizes = [usable(side.states[0]) for side in sides]
    if sizes[0] != sizes[1]:
        raise UsageError(
            f"the runs have memory for {sizes[0]:,} and {sizes[1]:,} tokens, not alike"
        )
    end = max(side.ends[-1] for side in sides)
    moment = end / 3 if at is None else min(max(at, 0.0), end)
    most = max(len(side.order) for side in sides)
    body = 34 + CELLS / COLUMNS * CELL + 16 + AREA + 16 + most * LANE + 22
    said = f"The same {most} requests, memory for {sizes[0]:,} tokens, at {moment:.2f} s."
    how = "Thick: runs; thin: waits; dot: finished. Grey: held and still empty."
    figure, sheet, y = page.sheet(title or "A race", said, body, [how, *notes])
    for number, side in enumerate(sides):
        _draw(sheet, side, page.MARGIN + number * (SIDE + GAP), y, moment, end)
    words = " ".join(f"{page.policy_name(side.name)}: {side.score(moment)}." for side in sides)
    return figure, " ".join([said, words, how, *notes])


def _side(name: str, run: Run) -> Side:
    timeline = run.timeline if isinstance(run, Simulation) else run
    if not isinstance(timeline, Timeline) or not timeline.notes.clock:
        raise UsageError(f"{name!r} has no clock: give a simulation with record=True")
    states = [timeline.at(event + 1) for event in timeline.find(kind="schedule")]
    return Side(name, timeline.notes.clock, states, timeline.sequences)


def _draw(sheet: Sheet, side: Side, x: float, y: float, moment: float, end: float) -> None:
    sheet.write(x, y + 5, page.policy_name(side.name), size=9, ha="left", bold=True)
    sheet.write(x, y + 18, side.score(moment), ha="left")
    y += 28
    if moment < side.ends[-1]:
        _memory(sheet, side, x, y, side.at(moment))
    else:
        sheet.rectangle(Box(x, y, SIDE, CELLS / COLUMNS * CELL), edge=style.MUTED)
    y += CELLS / COLUMNS * CELL + 16
    across = Scale(0, end, x + NAMES, x + SIDE - 4)
    sheet.write(x + NAMES, y - 5, "memory, by request", ha="left", color=style.MUTED)
    _areas(sheet, side, across, y)
    top = y
    y += AREA + 12
    for number, name in enumerate(side.order):
        _lane(sheet, side, name, number, across, y + (number + 0.5) * LANE)
    y += len(side.order) * LANE + 3
    for value in page.ticks(end, 4):
        sheet.line([across(value)] * 2, [y, y + 3])
        sheet.write(across(value), y + 9, f"{value:g} s")
    sheet.line([across(moment)] * 2, [top - 2, y], color=style.INK, width=1.6)


def _memory(sheet: Sheet, side: Side, x: float, y: float, state: State) -> None:
    """All slots, row by row; runs of slots of a sequence are one box in each row."""
    size, row = state.block_size, -(-usable(state) // (CELLS // COLUMNS))
    sheet.rectangle(Box(x, y, SIDE, CELLS / COLUMNS * CELL), edge=style.MUTED)

    def boxes(begin: float, stop: float) -> Iterable[Box]:
        while stop - begin > 1e-9:
            line = int(begin // row)
            upto = min(stop, (line + 1) * row)
            wide = (upto - begin) / row * SIDE
            yield Box(x + (begin - line * row) / row * SIDE, y + line * CELL + 1, wide, CELL - 2)
            begin = upto

    for name, table in state.tables.items():
        color, hatch = _look(side, name)
        own = [b - (state.null_block is not None) for b in table.block_ids]  # its first one is null
        pieces: list[list[int]] = []
        for block in own:
            if size == 1 and pieces and pieces[-1][1] == block:
                pieces[-1][1] += 1
            else:
                pieces.append([block, block + 1])
        written = table.num_slots
        for first, last in pieces:
            begin, stop = first * size, last * size
            full = begin + min(max(written, 0), stop - begin)
            written -= stop - begin
            for box in boxes(begin, stop):
                sheet.rectangle(box, fill=style.HELD, edge=None)
            for box in boxes(begin, full):
                sheet.rectangle(box, fill=color, edge=None, hatch=hatch)
            for box in boxes(begin, stop):
                sheet.rectangle(box, fill=None, width=0.5)


def _look(side: Side, name: Name) -> tuple[str, str]:
    number = list(side.order).index(name)
    return style.color_of(number), style.pattern_of(number)


def _areas(sheet: Sheet, side: Side, across: Scale, y: float) -> None:
    """What each sequence holds, on top of each other: written in its colour, empty in grey."""
    room = usable(side.states[0])
    points = np.linspace(0, side.ends[-1], SLICES + 1)[1:]
    steps = np.unique(np.searchsorted(side.ends, points))  # no more than the picture can show
    held = [shares(side.states[step]) for step in steps]
    edges = [0.0, *(side.ends[step] for step in steps)]
    below = np.zeros(len(held))
    up = Scale(0, room, y + AREA, y)
    for name in side.order:
        color, hatch = _look(side, name)
        parts = np.array([share.get(name, (0.0, 0.0)) for share in held])
        there = np.flatnonzero(parts[:, 0])
        if not there.size:
            continue
        lives = slice(there[0], there[-1] + 1)
        xs = [across(float(edge)) for edge in np.repeat(edges[there[0] : there[-1] + 2], 2)[1:-1]]
        floor = [up(float(value)) for value in np.repeat(below[lives], 2)]
        for part, fill, lines in ((0, style.HELD, ""), (1, color, hatch)):
            ys = [up(float(value)) for value in np.repeat((below + parts[:, part])[lives], 2)]
            sheet.axes.fill(
                [*xs, *reversed(xs)],
                [*ys, *reversed(floor)],
                facecolor=fill,
                edgecolor=style.INK if lines else "none",
                hatch=lines or None,
                linewidth=0,
            )
        below += parts[:, 0]
    box = Box(across.start, y, across.end - across.start, AREA)
    sheet.rectangle(box, fill=None, edge=style.MUTED)


def _lane(sheet: Sheet, side: Side, name: Name, number: int, across: Scale, y: float) -> None:
    """A request over time: thin while it waits, thick while it runs, and a dot at its end."""
    sheet.write(across.start - 4, y, f"s{name}" if isinstance(name, int) else name, ha="right")
    color, hatch = _look(side, name)
    where = [
        next((q for q, all_ in s.queues.items() if name in map(s.requests.get, all_)), None)
        for s in side.states
    ]
    changes = [0, *(k for k in range(1, len(where)) if where[k] != where[k - 1]), len(where)]
    times = [0.0, *side.ends]
    for first, last in pairwise(changes):
        begin, stop = across(times[first]), across(times[last])
        if where[first] == "running":
            box = Box(begin, y - 3, max(stop - begin, 0.5), 6)
            sheet.rectangle(box, fill=color, hatch=hatch, width=0.5)
        elif where[first] is not None:
            sheet.line([begin, stop], [y, y], color=style.MUTED, width=1.0)
    ran = [k for k, queue in enumerate(where) if queue is not None]
    if ran:
        over = across(times[ran[-1] + 1])
        sheet.axes.plot([over], [y], "o", markersize=3.4, color=style.INK, clip_on=False, zorder=3)
