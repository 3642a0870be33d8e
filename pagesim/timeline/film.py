"""What reads the pages, as steps of a run that change nothing and put numbers on slots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.journal.effects import Name
from pagesim.timeline.captions import say
from pagesim.timeline.log import Log
from pagesim.timeline.run import Timeline


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
    num_slots = next(iter(state.pools.values()), 0) * state.block_size
    for read in reads:
        if not 0 <= read.row < len(rows):
            raise UsageError(
                f"row {read.row} has no name: the rows are {', '.join(map(say, rows))}"
            )
        for slot in read.slots:
            if check_int("slot", slot, 0) >= num_slots:
                raise UsageError(f"slot {slot} is outside the pool, which has {num_slots}")
        at = ", ".join(map(str, read.program))
        weights = dict(zip(read.slots, read.weights, strict=True))
        log.mark_numbers(f"program ({at}), head {read.head}", True, weights)
        block = {read.slots[-1] // state.block_size: 0.0}
        for name, value in (("m", read.m), ("\u2113", read.l), ("|acc|", read.acc)):
            log.mark_numbers(name, False, dict.fromkeys(block, float(value)))
        log.event(log.kind_codes["read"], log.subject_codes[rows[read.row]])
    notes = replace(run.notes, questions=(), sequences=tuple(run.sequences))
    return Timeline(log, stop=len(log), notes=notes)
