"""What reads the pages: numbers on slots, at the steps of a run or at steps of their own."""

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Protocol

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.journal.effects import MARK, Name, Row, show
from pagesim.journal.state import State
from pagesim.player.describe import name_text
from pagesim.timeline.events import MAX_MARK, ON
from pagesim.timeline.log import Log
from pagesim.timeline.questions import check_text


class Read(Protocol):
    """One load of keys: what ``kernels.xray.reads(trace)`` gives."""

    program: tuple[int, ...]
    row: int
    head: int
    slots: Sequence[int]
    weights: Sequence[float]
    m: float
    l: float  # noqa: E741
    acc: float


def film(state: State, reads: Iterable[Read], names: Sequence[Name] | None = None) -> Log:
    """What `Timeline.film` shows: the state in which a run ends, and an event for each read."""
    if names is None and state.groups:
        raise UsageError("the run has several KV cache groups: name the tables that are read")
    rows = list(state.tables) if names is None else list(names)
    log = Log(state)
    for read in reads:
        if not 0 <= read.row < len(rows):
            raise UsageError(
                f"row {read.row} has no name: the rows are {', '.join(map(name_text, rows))}"
            )
        slots = _as_shown(state, rows[read.row], map(int, read.slots))
        _check_ids(state, "slots", slots)
        at = ", ".join(map(str, read.program))
        weights = dict(zip(slots, map(float, read.weights), strict=True))
        block = slots[-1] // state.block_size
        marks = [
            (MARK, f"program ({at}), head {read.head}", "slots", *weights.items()),
            (MARK, "m", "blocks", (block, float(read.m))),
            (MARK, "\u2113", "blocks", (block, float(read.l))),
            (MARK, "|acc|", "blocks", (block, float(read.acc))),
        ]
        log.entries.append(("read", rows[read.row], None, *marks))
    return log


def _as_shown(state: State, table: Name, slots: Iterable[int]) -> list[int]:
    """Slots of a kernel, whose blocks have the size of the table's group, in the run's blocks."""
    if not state.groups:
        return list(slots)
    try:
        size = state.group_of(table).block_size
    except KeyError:
        count = len(state.groups)
        raise UsageError(f"{name_text(table)} is no table of one of {count} groups") from None
    return [slot // size * state.block_size + slot % size for slot in slots]


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
