"""Finds the events of a log that concern a block or a table, or are of a kind."""

from collections.abc import Callable

from pagesim.errors import UsageError
from pagesim.journal.effects import (
    BEGIN,
    CALLS,
    DECISIONS,
    EFFECTS,
    END,
    FAILED,
    LOOKUP,
    TIER_DECISIONS,
    Name,
    Row,
)
from pagesim.journal.state import table_name
from pagesim.timeline.events import Entry
from pagesim.timeline.log import Log, tables_of

Test = Callable[[Entry], bool]


def of_block(block: int) -> Test:
    """Whether an event has an effect on a block."""
    return lambda entry: any(block in _blocks(row) for row in entry[3:])


def of_sequence(name: Name, log: Log) -> Test:
    """Whether an event concerns a table or sequence, or does something to it.

    A request in several KV cache groups has a table in each.
    """
    tables = {name, *(table_name(name, group) for group in range(len(log.start.groups)))}
    return lambda entry: (
        entry[1] == name
        or any(
            tables.intersection(tables_of(row)) or (row[0] == BEGIN and row[3] == name)
            for row in entry[3:]
        )
    )


def of_kind(kind: str, log: Log) -> Test:
    """Whether an event is of a kind, or has an effect of it. UsageError for an unknown kind."""
    known = {*EFFECTS, *CALLS, *DECISIONS, *TIER_DECISIONS, FAILED, LOOKUP, BEGIN, END}
    if kind not in known:
        known |= {entry[0] for entry in log.entries}
        if kind not in known:
            raise UsageError(f"unknown kind {kind!r}: there are {', '.join(sorted(known))}")
    is_effect = kind in EFFECTS or kind in (LOOKUP, BEGIN, END)
    return lambda entry: (
        entry[0] == kind or (is_effect and any(row[0] == kind for row in entry[3:]))
    )


def _blocks(row: Row) -> Row:
    """The blocks that an effect concerns: its own, and where a copy or a move goes."""
    if row[0] == BEGIN:
        return tuple(block for pair in row[4] for block in pair)
    if row[0] not in EFFECTS:
        return ()
    return row[1:3] if EFFECTS[row[0]].fields[:1] == ("to",) else row[1:2]
