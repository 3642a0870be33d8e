"""The storage of a run: columns of small integers, a few bytes per event.

A million events as Python objects would take gigabytes. Here an event is a row of three numbers,
an effect is a row of five, and the tokens of a table are one array that only grows.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

from pagesim.errors import UsageError
from pagesim.journal import effects as fx
from pagesim.journal.effects import (
    Effect,
    Event,
    Mark,
    Move,
    Name,
    Opened,
    Scheduled,
    TableChange,
    Tokens,
)
from pagesim.journal.state import State

EVENT, ROW = 3, 5
"""Numbers per event and per row."""
FLUSH = 16_384
ON = ("blocks", "slots")
"""What a mark can put numbers on."""
MAX_MARK = 1e300
"""Beyond the largest number of a mark."""

FIELDS = {
    "take": ("list",),
    "free": ("list", "place"),
    "write": ("table", "first", "count"),
    "hit": ("table", "first", "count"),
    "copy": ("to", "owners"),
    "move": ("to",),
    "null": ("table", "index"),
}
"""What an effect has apart from its block, by its kind."""

Row = tuple[int, int, int, int, int]
Record = tuple[int, int, int, list[Row]]
"""An event as it is written: kind, subject, step (-1 for none), and its rows."""
Waiter = tuple[int, int]
"""A place in a queue: the codes of a request and of its first sequence, -1 if that is unknown."""


class TableLog:
    """One lifetime of a table, from its first block until it is freed: its name and tokens."""

    __slots__ = ("name", "number", "tokens")

    def __init__(self, number: int, name: Name) -> None:
        self.number = number
        self.name = name
        self.tokens: array[int] = array("q")

    def write(self, tokens: list[int]) -> None:
        """Append tokens. UsageError for one beyond 64 bits."""
        try:
            self.tokens.fromlist(tokens)
        except OverflowError:
            big = next(token for token in tokens if not -(2**63) <= token < 2**63)
            raise UsageError(
                f"token {big} cannot be recorded: tokens in a timeline have at most 64 bits"
            ) from None


class Codes(dict[Any, int]):
    """The numbers that stand for names in the columns: a new name gets the next one."""

    def __init__(self, *names: str) -> None:
        self.names: list[Any] = []
        """What the numbers stand for."""
        for name in names:
            self.new(name)

    def new(self, name: Name) -> int:
        """A new number for a name, even if another table had that name before."""
        code = self[name] = len(self.names)
        self.names.append(name)
        return code

    __missing__ = new


class Log:
    """Everything that has happened since ``start``; it grows at the end and is append-only.

    ``rows`` holds five consecutive numbers for each effect: its kind, and

    TAKE                                block, list
    FREE                                block, list, place
    SHARE UNSHARE CACHE EVICT COMPUTED  block
    WRITE HIT                           block, table, first position, number of positions
    COPY MOVE                           block, to, owners
    NULL                                block, table, entry
    PATCH                               entry, table, place in ``patches``, number of ids
    OPEN                                written slots, table, -, number of tokens
    CLOSE                               -, table
    TOKENS                              -, table, first position, number of tokens
    LEAVE ENTER                         queue, request, place, first sequence
    SCHEDULED                           tokens, request, whether a prompt, first sequence
    MARK                                name, whether on slots, place in the marks, count

    Lists and queues are numbered in the order in which ``start`` names them.
    """

    def __init__(self, start: State) -> None:
        self.begin(start)
        self.first_lives = list(range(len(start.tables)))
        """The numbers of the tables in ``start``."""
        self.kind_codes = Codes("append_slots")
        self.kinds: list[str] = self.kind_codes.names
        self.tables: list[TableLog] = []
        self._events = array("i")
        self._rows = array("i")
        self._open_events: list[int] = []
        self.open_rows: list[int] = []
        """The numbers of the newest rows, which are not in their column yet: lists grow faster."""
        self._closed_rows = 0
        self.patches = array("i")
        self._marked = array("q"), array("d")
        """The ids of all marks, and their numbers."""
        self.errors: dict[int, tuple[str, str]] = {}
        self.marks: dict[int, list[Mark]] = {}
        """Marks that were put on an event after it was recorded."""
        self._steps: tuple[list[int], list[int]] = ([], [])
        """Events at which another step of the scheduler begins, and its number, -1 for none."""
        self.subject_codes = Codes()
        self.subject_codes[None] = -1
        self.subjects: list[Name] = self.subject_codes.names
        self._request_codes = Codes()

    def __len__(self) -> int:
        return (len(self._events) + len(self._open_events)) // EVENT

    def begin(self, start: State) -> None:
        """Set the initial state, whose lists and queues the rows refer to by number."""
        self.start = start
        self.lists, self.queues = tuple(start.lists), tuple(start.queues)

    # -- writing ---------------------------------------------------------------------------------

    def waiter(self, request: Name, sequence: Name | None) -> Waiter:
        """The codes of a request in a queue."""
        return self._request_codes[request], self.subject_codes[sequence]

    def names(self, waiter: Waiter) -> tuple[Name, Name | None]:
        """The names of the request and, if known, of its first sequence."""
        request, sequence = waiter
        return self._request_codes.names[request], None if sequence < 0 else self.subjects[sequence]

    def first_queues(self) -> list[list[Waiter]]:
        """The queues of the initial state."""
        sequence_of = self.start.requests.get
        return [
            [self.waiter(request, sequence_of(request)) for request in queue]
            for queue in self.start.queues.values()
        ]

    def move(self, kind: int, queue: int, waiter: Waiter, place: int) -> None:
        """A request leaves (LEAVE) or enters (ENTER) a queue at a place."""
        self.row(kind, queue, waiter[0], place, waiter[1])

    def mark_numbers(self, name: str, on_slots: bool, numbers: Mapping[int, float]) -> None:
        """Put numbers on blocks, or on slots, in the event that is being recorded."""
        ids, values = self._marked
        self.row(fx.MARK, self.subject_codes[name], on_slots, len(ids), len(numbers))
        ids.extend(numbers.keys())
        values.extend(numbers.values())

    def begin_step(self, number: int | None) -> None:
        """The following events belong to a step of the scheduler, or to none."""
        starts, numbers = self._steps
        code = -1 if number is None else number
        if code != (numbers[-1] if numbers else -1):
            starts.append(len(self))
            numbers.append(code)

    def new_table(self, name: Name) -> TableLog:
        """Begin the history of a table."""
        self.tables.append(TableLog(len(self.tables), name))
        return self.tables[-1]

    def row(self, kind: int, a: int = -1, b: int = -1, c: int = 0, d: int = 0) -> None:
        """Add an effect to the event that is being recorded."""
        self.open_rows += (kind, a, b, c, d)

    def patch(self, table: TableLog, start: int, block_ids: list[int]) -> None:
        """From entry ``start`` on, the table now holds ``block_ids``."""
        self.row(fx.PATCH, start, table.number, len(self.patches), len(block_ids))
        self.patches.fromlist(block_ids)

    def event(self, kind: int, subject: int) -> None:
        """Close the event that consists of the effects added since the last one."""
        rows = self.open_rows
        self._open_events += (kind, subject, self._closed_rows + len(rows))
        if len(rows) > FLUSH:
            self._flush()

    def _flush(self) -> None:
        """Move what is in the lists into the columns (fromlist is the fastest way there)."""
        self._rows.fromlist(self.open_rows)
        self._events.fromlist(self._open_events)
        self._closed_rows = len(self._rows)
        self.open_rows.clear()
        self._open_events.clear()

    # -- reading ---------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Memory used by the columns and the tokens, in bytes."""
        self._close_open_events()
        columns = (self._events, self._rows, self.patches, *self._marked)
        tokens = (life.tokens for life in self.tables)
        names = (*self._steps, self._request_codes.names, self._request_codes)
        return sum(map(sys.getsizeof, (*columns, *tokens, *self.tables, *names)))

    def columns(self, first: int, last: int) -> tuple[array[int], array[int]]:
        """The numbers of the events ``first`` … ``last - 1``, and those of their rows."""
        start = self.start_of(first)
        return self._events[EVENT * first : EVENT * last], self._rows[start : self._start_of(last)]

    def start_of(self, index: int) -> int:
        """Where the numbers of an event's rows begin."""
        self._close_open_events()
        return self._start_of(index)

    def rows(self, first: int, last: int) -> Iterator[Row]:
        """The rows of the events ``first`` … ``last - 1``, in order."""
        self._close_open_events()
        numbers = iter(self._rows[self._start_of(first) : self._start_of(last)])
        return zip(numbers, numbers, numbers, numbers, numbers, strict=True)

    def records(self, first: int, last: int) -> Iterator[Record]:
        """The events ``first`` … ``last - 1``."""
        for start in range(first, last, FLUSH):
            stop, begin = min(start + FLUSH, last), self.start_of(start)
            events, rows, at = self.columns(start, stop)[0], list(self.rows(start, stop)), 0
            columns = (events[column::EVENT] for column in range(EVENT))
            for index, kind, subject, end in zip(range(start, stop), *columns, strict=True):
                end = (end - begin) // ROW
                yield kind, subject, self._step(index), rows[at:end]
                at = end

    def tokens(self, table: int, first: int, count: int) -> list[int]:
        """The tokens of a TOKENS or OPEN row."""
        return self.tables[table].tokens[first : first + count].tolist()

    def _event(self, index: int) -> tuple[int, int]:
        self._close_open_events()
        kind, subject = self._events[EVENT * index : EVENT * index + 2]
        return kind, subject

    def _start_of(self, index: int) -> int:
        return self._events[EVENT * index - 1] if index else 0

    def _close_open_events(self) -> None:
        if self._open_events:
            last = self._open_events[-1] - self._closed_rows
            newest = self.open_rows[last:]  # of an event that is still being recorded
            del self.open_rows[last:]
            self._flush()
            self.open_rows += newest

    def ids(self, place: int, count: int) -> list[int]:
        """The block ids of a PATCH row."""
        return self.patches[place : place + count].tolist()

    def numbers(self, place: int, count: int) -> tuple[tuple[int, float], ...]:
        """The (id, number) pairs of a MARK row."""
        ids, values = self._marked
        end = place + count
        return tuple(zip(ids[place:end], values[place:end], strict=True))

    def read(self, index: int) -> Event:
        """One event as an object, without its caption."""
        kind_code, subject = self._event(index)
        told: dict[str, list[object]] = {}
        for row in self.rows(index, index + 1):
            key, value = self._value(row)
            told.setdefault(key, []).append(value)
        told["marks"] = [*told.get("marks", ()), *self.marks.get(index, ())]
        called, error = self.errors.get(index, (None, None))
        return Event(
            kind=self.kinds[kind_code],
            subject=None if subject < 0 else self.subjects[subject],
            step=None if (step := self._step(index)) < 0 else step,
            called=called,
            error=error,
            **{key: tuple(values) for key, values in told.items()},  # type: ignore[arg-type]
        )

    def _value(self, row: Row) -> tuple[str, object]:
        """The field of the event that a row belongs to, and its value."""
        kind, a, b, c, d = row
        if kind < fx.PATCH:
            return "effects", self._effect(row)
        if kind in (fx.LEAVE, fx.ENTER):
            return "moves", Move(kind == fx.ENTER, self.queues[a], c, *self.names((b, d)))
        if kind == fx.SCHEDULED:
            return "scheduled", Scheduled(*self.names((b, d)), a, bool(c))
        if kind == fx.MARK:
            return "marks", Mark(str(self.subjects[a]), ON[b], self.numbers(c, d))
        life = self.tables[b]
        if kind == fx.PATCH:
            return "tables", TableChange(life.name, a, tuple(self.ids(c, d)))
        if kind == fx.OPEN:
            return "opened", Opened(life.name, tuple(life.tokens[:d]), a)
        if kind == fx.TOKENS:
            return "tokens", Tokens(life.name, c, tuple(life.tokens[c : c + d]))
        return "closed", life.name

    def _step(self, index: int) -> int:
        starts, numbers = self._steps
        at = bisect_right(starts, index)
        return numbers[at - 1] if at else -1

    def _effect(self, row: Row) -> Effect:
        kind, block, b, c, d = row
        word, table = fx.EFFECTS[kind], None
        if kind == fx.TAKE:
            return Effect(word, block, list=self.lists[b])
        if kind == fx.FREE:
            return Effect(word, block, list=self.lists[b], place=c)
        if kind == fx.COPY:
            return Effect(word, block, to=b, owners=c)
        if kind == fx.MOVE:
            return Effect(word, block, to=b)
        if kind in (fx.WRITE, fx.HIT, fx.NULL):
            table = None if b < 0 else self.tables[b].name
        if kind in (fx.WRITE, fx.HIT):
            return Effect(word, block, table=table, first=c, count=d)
        return Effect(word, block, table=table, index=None if table is None else c)

    def __iter__(self) -> Iterator[Event]:
        return map(self.read, range(len(self)))
