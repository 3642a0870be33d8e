"""What reads the pages: numbers on slots, at the steps of a run or at steps of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import Any, Protocol

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.journal.effects import Mark, Name, show
from pagesim.timeline.log import MAX_MARK, ON, Log
from pagesim.timeline.questions import check_text
from pagesim.timeline.run import Timeline
from pagesim.timeline.told import say


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


def film(run: Timeline, reads: Iterable[Any], names: Sequence[Name] | None = None) -> Timeline:
    """A run that begins where ``run`` ends, with a step for each read.

    ``names`` are the sequences of the batch's rows; by default the tables of the last state, in
    their order. The player lights up what a step read, and shows how m, l and acc move. UsageError
    for a row without a name, or a slot outside the first pool.
    """
    state = run.at(-1)
    rows = list(state.tables) if names is None else list(names)
    log = Log(state)
    for name, table in state.tables.items():
        log.new_table(name).write(list(table.token_ids))
    for read in reads:
        if not 0 <= read.row < len(rows):
            raise UsageError(
                f"row {read.row} has no name: the rows are {', '.join(map(say, rows))}"
            )
        _check_ids(run, "slots", read.slots)
        at = ", ".join(map(str, read.program))
        weights = dict(zip(read.slots, read.weights, strict=True))
        log.mark_numbers(f"program ({at}), head {read.head}", True, weights)
        block = {read.slots[-1] // state.block_size: 0.0}
        for name, value in (("m", read.m), ("\u2113", read.l), ("|acc|", read.acc)):
            log.mark_numbers(name, False, dict.fromkeys(block, float(value)))
        log.event(log.kind_codes["read"], log.subject_codes[rows[read.row]])
    notes = replace(run.notes, questions=(), opens=None, sequences=tuple(run.sequences))
    return Timeline(log, stop=len(log), notes=notes)


def checked_mark(
    run: Timeline, step: int, numbers: Mapping[int, float], what: str, on: str
) -> Mark:
    """Numbers on slots or blocks as a mark of a step; TypeError or UsageError if they are not."""
    if not check_int("step", step, 0) or step > len(run):
        raise UsageError(f"step {step} has no event: the steps of this run are 1 to {len(run)}")
    if on not in ON:
        raise UsageError(f"on must be {' or '.join(map(repr, ON))}, not {show(on)}")
    pairs = tuple((index(place), float(0 + number)) for place, number in numbers.items())
    _check_ids(run, on, (place for place, _ in pairs))
    for place, number in pairs:
        if not abs(number) < MAX_MARK:
            raise UsageError(f"the number of {on[:-1]} {place} must be finite, not {number}")
    return Mark(check_text("what", what), on, pairs)


def _check_ids(run: Timeline, on: str, ids: Iterable[int]) -> None:
    """UsageError names a slot, or a block, that the first pool does not have."""
    state = run.at(0)
    size = state.block_size if on == "slots" else 1
    count = next(iter(state.pools.values()), 0) * size
    for place in ids:
        if check_int(on[:-1], place, 0) >= count:
            raise UsageError(f"{on[:-1]} {place} is outside the pool, which has {count}")
