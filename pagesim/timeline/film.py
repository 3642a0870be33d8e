"""What reads the pages: numbers on slots, at the steps of a run or at steps of their own."""

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Protocol

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.journal.effects import DIFFERENCE, HOLDS, MARK, Name, Row, show
from pagesim.journal.state import State
from pagesim.player.describe import name_text
from pagesim.timeline.events import MAX_MARK, ON
from pagesim.timeline.log import Log
from pagesim.timeline.questions import check_text

READERS = "programs that read it"
"""The mark on each block: what a reader shows that knows nothing of programs."""
DIGITS = 6
"""Those that are kept of a number: the last ones differ between processors."""


class Read(Protocol):
    """One load of keys: what ``kernels.xray.reads(trace)`` gives."""

    program: tuple[int, ...]
    load: int
    seq: int
    query: int
    head: int
    slots: Sequence[int | None]
    weights: Sequence[float]
    m: float
    l: float  # noqa: E741
    acc: float
    error: float | None


def film(state: State, reads: Iterable[Read], names: Sequence[Name] | None = None) -> Log:
    """What `Timeline.film` shows: the state in which a run ends, and an event for each load.

    All programs load at the same time: an event has the first load of each, the next one the
    second. A reduction is an event of its own, and so is the comparison of the output.
    """
    if names is None and state.groups:
        raise UsageError("the run has several KV cache groups: name the tables that are read")
    rows = list(state.tables) if names is None else list(names)
    log, loads, errors = Log(state), dict[int, list[Row]](), list[float]()
    for read in reads:
        if not 0 <= read.seq < len(rows):
            raise UsageError(
                f"row {read.seq} has no name: the rows are {', '.join(map(name_text, rows))}"
            )
        slots = _as_shown(state, rows[read.seq], read.slots)
        _check_ids(state, "slots", [slot for slot in slots if slot is not None])
        weights = tuple(map(_rounded, read.weights))
        program = tuple(map(int, read.program))
        holds = (HOLDS, program, rows[read.seq], int(read.query), int(read.head), slots, weights)
        held = map(_rounded, (read.m, read.l, read.acc))
        loads.setdefault(read.load, []).append((*holds, *held))
        errors += [] if read.error is None else [float(read.error)]
    for _, rows_of in sorted(loads.items()):
        readers: dict[int, set[Row]] = {}
        for _, program, _, _, _, slots, *_ in rows_of:
            for slot in slots:
                if slot is not None:
                    readers.setdefault(slot // state.block_size, set()).add(program)
        marks = [(MARK, READERS, "blocks", *((b, float(len(p))) for b, p in readers.items()))]
        kind = "read" if any(row[5] for row in rows_of) else "reduce"
        log.entries.append((kind, None, None, *rows_of, *(marks if readers else [])))
    if errors:
        log.entries.append(("output", None, None, (DIFFERENCE, _bound(max(errors)))))
    return log


def _rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def _bound(number: float) -> float:
    """The power of ten that a number is below, so that it is the same on all processors."""
    return 10.0 ** (math.floor(math.log10(number)) + 1) if number else 0.0


def _as_shown(state: State, table: Name, slots: Iterable[int | None]) -> tuple[int | None, ...]:
    """Slots of a kernel, whose blocks have the size of the table's group, in the run's blocks."""
    if not state.groups:
        return tuple(slot if slot is None else int(slot) for slot in slots)
    try:
        size = state.group_of(table).block_size
    except KeyError:
        count = len(state.groups)
        raise UsageError(f"{name_text(table)} is no table of one of {count} groups") from None
    return tuple(
        slot if slot is None else int(slot) // size * state.block_size + int(slot) % size
        for slot in slots
    )


def checked_mark(state: State, numbers: Mapping[int, float], what: str, on: str) -> Row:
    """Numbers on slots or blocks as a row of a log; TypeError or UsageError if they are not."""
    if on not in ON:
        raise UsageError(f"on must be {' or '.join(map(repr, ON))}, not {show(on)}")
    pairs = tuple((index(place), float(0 + number)) for place, number in numbers.items())
    _check_ids(state, on, (place for place, _ in pairs))
    for place, number in pairs:
        if not abs(number) < MAX_MARK:
            raise UsageError(f"the number of {on[:-1]} {place} must be finite, not {number}")
    return MARK, check_text("what", what), on, *pairs


def _check_ids(state: State, on: str, ids: Iterable[int]) -> None:
    """UsageError names a slot, or a block, that the first pool does not have."""
    size = state.block_size if on == "slots" else 1
    count = next(iter(state.pools.values()), 0) * size
    for place in ids:
        if check_int(on[:-1], place, 0) >= count:
            raise UsageError(f"{on[:-1]} {place} is outside the pool, which has {count}")
