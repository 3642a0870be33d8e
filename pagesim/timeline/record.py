"""`with pagesim.record(manager) as run:` records everything that happens in the block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakValueDictionary

from pagesim.errors import UsageError
from pagesim.journal import Journal, Row
from pagesim.journal import effects as fx
from pagesim.journal.effects import Name, request_name
from pagesim.journal.state import Queues, State
from pagesim.timeline.log import Log, TableLog, Waiter
from pagesim.timeline.run import Timeline

Request = tuple[Any, ...]
"""A request in a queue: its id, and its first sequence."""


class Recordable(Protocol):
    """Anything that writes into a journal and can report its state."""

    @property
    def journal(self) -> Journal: ...

    def state(self) -> State: ...


@contextmanager
def record(subject: Recordable) -> Iterator[Timeline]:
    """Record what happens to the pages of a scheduler, a block manager, or an allocator.

    A scheduler's decisions are recorded as well: each call of ``schedule()`` is a step of the run,
    and every state has the queues.

    The run can be read while it is being recorded, and it keeps its events if an exception ends
    the block. Recorders nest: two on one allocator see the same events, each for its own part. An
    allocator that belongs to a GPU/CPU pair is recorded together with the other one. TypeError for
    an object that cannot be recorded; during recording, a token beyond 64 bits is a UsageError.
    """
    journal = getattr(subject, "journal", None)
    if not isinstance(journal, Journal) or not hasattr(subject, "state"):
        raise TypeError(f"record takes a scheduler, block manager or allocator, not {subject!r}")
    state, recording = subject.state(), journal.recorder
    if not isinstance(recording, Recording):
        recording = Recording(journal, state)
        journal.listen(recording)
    else:
        recording.include(state)
    recording.listeners += 1
    log = recording.log
    run = Timeline(log, start=len(log), recording=recording)
    try:
        yield run
    finally:
        run._stop, run._recording = len(log), None
        recording.listeners -= 1
        if not recording.listeners:
            journal.listen(None)
            recording.tables.clear()


@dataclass(slots=True)
class Label:
    """The name of a table, its number in the log, and the histories that bear it."""

    name: Name
    subject: int
    histories: list[TableLog] = field(default_factory=list)


class Recording:
    """Turns the rows of a journal into the rows of a log.

    ``tables`` maps the live tables to their histories in the log. A log refers to lists, queues and
    tables by number; the translation from names and objects happens here.
    """

    def __init__(self, journal: Journal, state: State) -> None:
        self.journal, self.listeners = journal, 0
        self.log = Log(replace(state, live={}))
        self.tables: dict[Any, TableLog] = {}
        self._labels: WeakKeyDictionary[Any, Label] = WeakKeyDictionary()
        self._owners: WeakValueDictionary[Name, Any] = WeakValueDictionary()
        self._unnamed = self.step = 0
        self._begin(state)
        for name, table in state.tables.items():
            history = self.log.new_table(name)
            history.write(list(table.token_ids))
            self._know(state.live[name], name, history)

    def _begin(self, state: State) -> None:
        self.log.begin(state)
        self._lists = {name: number for number, name in enumerate(self.log.lists)}
        self._queue_codes = {name: number for number, name in enumerate(self.log.queues)}
        self._queues = [
            [(request, state.requests.get(request)) for request in queue]
            for queue in state.queues.values()
        ]
        self.has_queues = bool(self._queues)

    def include(self, state: State) -> None:
        """Add tables and queues that were not recorded so far to the initial state.

        Nothing has happened to those tables yet, or their histories would have begun. The requests
        in the queues are added by a separate event.
        """
        log, known = self.log, state.live
        new = {n: t for n, t in state.tables.items() if known[n] not in self.tables}
        start = replace(log.start, tables={**log.start.tables, **new})
        if state.queues and not self.has_queues:
            start = replace(start, queues=Queues(dict.fromkeys(state.queues, ())))
        if start != log.start:
            self._begin(start)
        for name, table in new.items():
            self._free_name(name)
            history = log.new_table(name)
            history.write(list(table.token_ids))
            log.first_lives.append(history.number)
            self._know(known[name], name, history)
        if any(state.queues.values()) and not any(self._queues):
            for queue, requests in state.queues.items():
                self._arrange(queue, [(name, state.requests.get(name)) for name in requests])
            log.event(log.kind_codes["record"], -1)

    # -- what the journal reports ----------------------------------------------------------------

    def begin_step(self, number: int | None = None) -> None:
        """The following events belong to the next step of a scheduler, or to an earlier one."""
        if number is None:
            number = self.step = self.step + 1
        self.log.begin_step(number)

    def event(
        self, kind: str, subject: Any, rows: list[Row], called: str | None, error: str | None
    ) -> None:
        """Log one event. Blocks are written in the order of the tokens their table announced."""
        log, lists, add = self.log, self._lists, self.log.open_rows.extend
        table, position = -1, 0
        for row in rows:
            what = row[0]
            if what == fx.WRITE:
                what, block, count = row
                add((what, block, table, position if table >= 0 else 0, count))
                position += count
            elif what == fx.APPEND:
                what, of, position, tokens = row
                history = self.tables[of]
                table = history.number
                history.tokens.fromlist(tokens)
                if tokens:
                    add((fx.TOKENS, -1, table, position, len(tokens)))
            elif what == fx.KNOWN:
                history, known = self.tables[row[1]], len(self.tables[row[1]].tokens)
                if new := row[2][known : row[3]]:
                    history.tokens.fromlist(new)
                    add((fx.TOKENS, -1, history.number, known, len(new)))
            elif what == fx.PATCH:
                log.patch(self.tables[row[1]], row[2], row[3])
            elif what == fx.TAKE:
                add((fx.TAKE, row[1], lists[row[2]], 0, 0))
            elif what == fx.FREE:
                add((fx.FREE, row[1], lists[row[2]], row[3], 0))
            elif what == fx.HIT:
                found = table if row[2] else -1  # a hit of 0 tokens adds none to the table
                log.row(fx.HIT, row[1], found, position if found >= 0 else 0, row[2])
                position += row[2]
            elif what in (fx.COPY, fx.MOVE):
                log.row(*row)
            elif what == fx.NULL:
                of = row[2]
                log.row(fx.NULL, row[1], -1 if of is None else self.tables[of].number, row[3] or 0)
            elif what == fx.OPEN:
                self._open(*row[1:])
            elif what == fx.CLOSE:
                if row[1] in self.tables:
                    log.row(fx.CLOSE, b=self.tables.pop(row[1]).number)
            elif what in (fx.LEAVE, fx.ENTER, fx.QUEUE, fx.SCHEDULED):
                if self.has_queues:
                    self._in_queues(row)
            else:  # share, unshare, cache, evict, computed
                add((what, row[1], -1, 0, 0))
        if kind == fx.FAILED:
            why = (error or "").encode(errors="backslashreplace").decode()[: fx.MAX_NAME]
            log.errors[len(log)] = (called or "", why)
        if subject is not None and not isinstance(subject, (int, str)):
            subject = self._name(subject)
        log.event(log.kind_codes[kind], log.subject_codes[subject])

    # -- queues ----------------------------------------------------------------------------------

    def _in_queues(self, row: Row) -> None:
        if row[0] == fx.LEAVE:
            self._leave(self._queue_codes[row[1]], row[2:])
        elif row[0] == fx.ENTER:
            queue, place = self._queue_codes[row[1]], row[4]
            if place < 0:
                place = len(self._queues[queue])
            self._enter(queue, row[2:4], place)
        elif row[0] == fx.QUEUE:
            self._arrange(row[1], row[2])
        else:
            request, sequence = self._waiter(row[1:3])
            self.log.row(fx.SCHEDULED, row[3], request, row[4], sequence)

    def _arrange(self, name: str, now: Sequence[Request]) -> None:
        """Put a queue in this order; the requests between the first and last change move."""
        queue = self._queue_codes[name]
        known = self._queues[queue].copy()
        first = last = 0
        shorter = min(len(known), len(now))
        while first < shorter and known[first] == now[first]:
            first += 1
        while last < shorter - first and known[-1 - last] == now[-1 - last]:
            last += 1
        for request in known[first : len(known) - last]:
            self._leave(queue, request)
        for place, request in enumerate(now[first : len(now) - last], first):
            self._enter(queue, request, place)

    def _leave(self, queue: int, request: Request) -> None:
        requests = self._queues[queue]
        is_last = requests[-1:] == [request]
        try:
            place = len(requests) - 1 if is_last else requests.index(request)
        except ValueError:  # its first sequence has ended, and another is the first now
            place = [name for name, _ in requests].index(request[0])
        self.log.move(fx.LEAVE, queue, self._waiter(requests.pop(place)), place)

    def _enter(self, queue: int, request: Request, place: int) -> None:
        self._queues[queue].insert(place, request)
        self.log.move(fx.ENTER, queue, self._waiter(request), place)

    def _waiter(self, request: Request) -> Waiter:
        return self.log.waiter(request_name(request[0]), request[1])

    # -- tables and their names ------------------------------------------------------------------

    def _open(
        self, table: Any, name: Name | None, tokens: Any, num_slots: int, block_ids: list[int]
    ) -> None:
        """Begin a table's history; ``tokens`` are its own, or the table that it forks."""
        if table in self.tables:
            if name is not None:
                self._call_sequence(table, name)
            return
        if not isinstance(tokens, list):
            tokens = self.tables[tokens].tokens[:num_slots].tolist()
        if name is not None and table not in self._labels:
            self._call_sequence(table, name)
        history = self.tables[table] = self.log.new_table(self._name(table))
        self._labels[table].histories.append(history)
        history.write(tokens)
        self.log.row(fx.OPEN, num_slots, history.number, 0, len(tokens))
        if block_ids:
            self.log.patch(history, 0, block_ids)

    def label(self, table: Any, name: Name) -> None:
        """Name a table for the whole run. UsageError if another table has that name."""
        if table.journal is not self.journal:
            raise UsageError(f"the table for {name!r} belongs to an allocator not recorded here")
        self._call(table, name)

    def _name(self, table: Any) -> Name:
        """The name of a table: t0, t1, … until it is given one.

        A table loses its name when another table is given the same one.
        """
        label = self._labels.get(table)
        if label is None or self._owners.setdefault(label.name, table) is not table:
            return self._give(table, self._fresh_name()).name
        self.log.subject_codes[label.name] = label.subject
        return label.name

    def _call(self, table: Any, name: Name) -> None:
        owner = self._owners.get(name, table)
        if owner is not table and owner in self.tables:
            raise UsageError(f"another table is already called {name!r}")
        label, log = self._labels.get(table), self.log
        if label is None or self._owners.get(label.name) is not table:
            self._give(table, name)
        elif label.name != name:
            del self._owners[label.name]
            label.name, self._owners[name] = name, table
            log.subjects[label.subject], log.subject_codes[name] = name, label.subject
            for history in label.histories:
                history.name = name

    def _call_sequence(self, table: Any, seq_id: Name) -> None:
        """Name a manager's table after its sequence, even if another table has that label."""
        if self._owners.get(seq_id) is not table:
            self._free_name(seq_id)
        self._call(table, seq_id)

    def _free_name(self, name: Name) -> None:
        owner = self._owners.get(name)
        if owner is not None and owner in self.tables:
            self._call(owner, self._fresh_name())

    def _fresh_name(self) -> str:
        while (fresh := f"t{self._unnamed}") in self._owners:
            self._unnamed += 1
        self._unnamed += 1
        return fresh

    def _give(self, table: Any, name: Name) -> Label:
        label = self._labels[table] = Label(name, self.log.subject_codes.new(name))
        self._owners[name] = table
        return label

    def _know(self, table: Any, name: Name, history: TableLog) -> None:
        self.tables[table] = history
        self._give(table, name).histories.append(history)
