"""A run as it is kept: the rows that its engine wrote, event by event, in the words of the file.

The rows of effects stand in `effects.EFFECTS`. The others are

PATCH       table, entry, *block ids           from this entry on it holds these blocks
OPEN        table, written slots, *tokens      it begins
CLOSE       table
TOKENS      table, first position, *tokens     they became known
LEAVE ENTER queue, place, request, sequence    its first one, or None
SCHEDULED   request, sequence or None, tokens, whether of its prompt
MARK        name, "blocks" or "slots", *pairs (id, number)
FAILED      called, error
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pagesim.journal import effects as fx
from pagesim.journal.effects import EFFECTS, Name, Row
from pagesim.journal.state import State
from pagesim.timeline.events import (
    Effect,
    Event,
    Mark,
    Move,
    Opened,
    Scheduled,
    TableChange,
    Tokens,
)

Entry = tuple[Any, ...]
"""An event: its kind, the table or sequence that it concerns, its step, and all its rows."""

START = -1
"""Stands for the number of an event: what was there before all of them."""


class Log:
    """Everything that has happened since ``start``; it grows at the end."""

    def __init__(self, start: State) -> None:
        self.start = start
        self.entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Event]:
        return map(event_of, self.entries)

    def add(self, index: int, row: Row) -> None:
        """Add a row to an event that has been recorded."""
        self.entries[index] += (row,)

    def rename(self, old: Name, new: Name, since: int) -> None:
        """Call a table by another name from this event on."""
        tables, requests = self.start.tables, self.start.requests
        if since == START:
            tables = {new if name == old else name: table for name, table in tables.items()}
            requests = {key: new if name == old else name for key, name in requests.items()}
        self.start = replace(self.start, tables=tables, requests=requests)  # all is sought anew
        for index in range(max(since, 0), len(self)):
            kind, subject, step, *rows = self.entries[index]
            rows = [renamed(row, old, new) for row in rows]
            self.entries[index] = (kind, new if subject == old else subject, step, *rows)

    @property
    def nbytes(self) -> int:
        """Memory used by the events, in bytes."""
        return sys.getsizeof(self.entries) + sum(map(_size, self.entries))


def tables_of(row: Row) -> Row:
    """The table that a row concerns, if it concerns one."""
    kind = row[0]
    if kind in (fx.PATCH, fx.OPEN, fx.CLOSE, fx.TOKENS):
        return row[1:2]
    named = kind in EFFECTS and "table" in EFFECTS[kind].fields and row[2] is not None
    return row[2:3] if named else ()


def renamed(row: Row, old: Name, new: Name) -> Row:
    """A row with another name for a table, or for the sequence of a request."""
    place = {fx.LEAVE: 4, fx.ENTER: 4, fx.SCHEDULED: 2, fx.MARK: len(row), fx.FAILED: len(row)}
    at = place.get(row[0], 2 if row[0] in EFFECTS else 1)
    if (row[0] in EFFECTS and not tables_of(row)) or row[at : at + 1] != (old,):
        return row
    return (*row[:at], new, *row[at + 1 :])


def event_of(entry: Entry) -> Event:
    """An event as an object, without its caption."""
    kind, subject, step, *rows = entry
    parts: dict[str, Any] = {}
    for row in rows:
        if row[0] == fx.FAILED:
            parts["called"], parts["error"] = row[1:]
        else:
            part, value = _value(*row)
            parts[part] = (*parts.get(part, ()), value)
    return Event(kind, subject, step=step, **parts)


def _value(kind: str, *what: Any) -> tuple[str, Any]:
    """The field of the event that a row belongs to, and its value."""
    if kind in EFFECTS:
        block, *more = what
        return "effects", Effect(kind, block, **dict(zip(EFFECTS[kind].fields, more, strict=True)))
    if kind in (fx.LEAVE, fx.ENTER):
        return "moves", Move(kind == fx.ENTER, *what)
    if kind == fx.CLOSE:
        return "closed", what[0]
    if kind == fx.SCHEDULED:
        return "scheduled", Scheduled(*what)
    name, at, *many = what
    if kind == fx.OPEN:
        return "opened", Opened(name, tuple(many), at)
    part, made = {
        fx.PATCH: ("tables", TableChange),
        fx.TOKENS: ("tokens", Tokens),
        fx.MARK: ("marks", Mark),
    }[kind]
    return part, made(name, at, tuple(many))


def _size(value: Any) -> int:
    """The bytes of a tuple, of those in it, and of integers that Python does not share."""
    if isinstance(value, tuple):
        return sys.getsizeof(value) + sum(map(_size, value))
    return 0
