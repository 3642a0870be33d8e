"""A run as it is kept: the rows that its engine wrote, event by event, as the file has them.

The rows of effects stand in `effects.EFFECTS`. The others are

PATCH       table, entry, *block ids           from this entry on it holds these blocks
OPEN        table, written slots, *tokens      it begins
CLOSE       table
TOKENS      table, first position, *tokens     they became known
LEAVE ENTER queue, place, request, sequence    its first one, or None
LOOKUP      (*group ids), asked, found         a lookup in these groups, in tokens
BEGIN       job, kind, request, (*pairs)       a copy between the tiers
END         job
SCHEDULED   request, sequence or None, tokens, whether of its prompt
MARK        name, "blocks" or "slots", *pairs (id, number)
HOLDS       program, table, query, head, (*slots), (*weights), m, l, acc
DIFFERENCE  a bound of it
FAILED      called, error
"""

import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import Any

from pagesim.journal import effects as fx
from pagesim.journal.effects import EFFECTS, Name, Row
from pagesim.journal.state import State
from pagesim.timeline.asked import Asked
from pagesim.timeline.events import Entry, Event, event_of

START = -1
"""Stands for the number of an event: what was there before all of them."""


class Log:
    """Everything that has happened since ``start``; it grows at the end."""

    def __init__(self, start: State) -> None:
        self.start = start
        self.asked = Asked()
        self.entries: list[Entry] = []
        self._names: dict[Hashable, tuple[int, Name]] = {}
        """What is called otherwise than in the rows, and from which event on."""

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Event]:
        return map(event_of, self.between(0, len(self)))

    def add(self, index: int, row: Row) -> None:
        """Add a row to an event that has been recorded."""
        self.entries[index] += (row,)

    def rename(self, key: Hashable, old: Name, new: Name, since: int) -> None:
        """Call by another name what is ``key`` in the rows from event ``since`` on."""
        self._names[key] = since, new
        start = self.start
        if since == START:
            tables = {new if name == old else name: table for name, table in start.tables.items()}
            requests = {
                request: new if first == old else first for request, first in start.requests.items()
            }
            self.start = replace(start, tables=tables, requests=requests)
        else:
            self.start = replace(start)  # so that no state is kept with the old name

    def between(self, first: int, last: int) -> Iterator[Entry]:
        """The events ``first`` … ``last - 1``, with the names that everything has by now."""
        return (
            map(self.entry, range(first, last)) if self._names else iter(self.entries[first:last])
        )

    def entry(self, index: int) -> Entry:
        """One event, with the names that everything has by now."""
        entry = self.entries[index]
        if not self._names:
            return entry

        def name_of(key: Hashable) -> Hashable:
            since, name = self._names.get(key, (START, key))
            return name if index >= since else key

        kind, subject, step, *rows = entry
        return (kind, name_of(subject), step, *(_named(row, name_of) for row in rows))

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


def _named(row: Row, name_of: Callable[[Hashable], Hashable]) -> Row:
    """A row with the names of its table, or of the sequence of its request."""
    places = {fx.LEAVE: 4, fx.ENTER: 4, fx.SCHEDULED: 2}
    at = places.get(row[0], (1 + (row[0] in EFFECTS)) * bool(tables_of(row)))
    return (*row[:at], name_of(row[at]), *row[at + 1 :]) if at else row


def _size(value: Any) -> int:
    """The bytes of a tuple, of those in it, and of integers that Python does not share."""
    if isinstance(value, tuple):
        return sys.getsizeof(value) + sum(map(_size, value))
    return 0
