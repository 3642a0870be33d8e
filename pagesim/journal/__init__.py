"""The one place where changes are noted, so that they can be undone and recorded.

A class that changes something says here how it was, and what happens::

    self.journal.was(block, "block_id")              # before the change: it can be put back
    self.journal.note((TAKE, block_id, "GPU free list"), free.appendleft, block_id)
    self.journal.note((WRITE, block_id, 3))          # nothing to undo, or nothing else

Nothing is kept unless it is needed. A call that may fail midway is a transaction (``with
self.journal:``, or an event that is ``atomic``): if it raises, all is put back, last first, with
the entries of each `Kept` dict. A recorder receives events: each public call is one, with the rows
that were noted during the call. ``journal.active`` is for code that runs once per token, or that
works to find out what to note. An engine never asks the recorder.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from types import TracebackType
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, TypeVarTuple, Unpack
from weakref import ref

from pagesim.checks import RAW, checked, explain
from pagesim.journal import effects as fx
from pagesim.journal.effects import Name, Row, check_recordable

START = 0, 0, 0
"""Where the outermost transaction begins."""

P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")
K = TypeVar("K")
V = TypeVar("V")
Inverse = Callable[..., object]
"""What takes a change back; what it returns is nobody's business."""
Owner = TypeVar("Owner", bound="Journaled")
_set, _delete, _pop = dict.__setitem__, dict.__delitem__, dict.pop


class Journaled(Protocol):
    """An object that writes to a journal."""

    @property
    def journal(self) -> Journal: ...


class Kept(dict[K, V]):
    """A dict that a journal keeps: on a failure, entries are put back as they were.

    They come and go by ``[]``, ``del`` and :meth:`pop`: other ways are not kept.
    """

    __slots__ = ("_journal",)

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def __setitem__(self, key: K, value: V) -> None:
        if (journal := self._journal)._marks:
            known = key in self
            inverse = (_set, (self, key, self[key])) if known else (_delete, (self, key))
            journal._inverses.append(inverse)
        _set(self, key, value)

    def __delitem__(self, key: K) -> None:
        self.pop(key)

    def pop(self, key: K) -> V:  # type: ignore[override]
        """Take an entry out."""
        value: V = _pop(self, key)
        if (journal := self._journal)._marks:
            journal._inverses.append((_set, (self, key, value)))
        return value


class Recorder(Protocol):
    """Listens to a journal: receives each event once it can no longer be undone."""

    has_queues: bool
    """Whether the queues of a scheduler are recorded: if not, its decisions are not events."""

    @property
    def tables(self) -> Container[Any]:
        """The tables whose contents it knows."""

    step: int
    """How many steps of a scheduler have begun."""

    def begin_step(self, number: int | None = None) -> None:
        """The events from here on belong to the next step of a scheduler, or to an earlier one."""

    def event(
        self, kind: str, subject: Hashable, rows: list[Row], called: str | None, error: str | None
    ) -> None:
        """One event; ``subject`` is a table, or the name of one."""


class Journal:
    """What the calls in progress have done so far; the objects of one allocator share it."""

    __slots__ = (
        *("_closed", "_inverses", "_marks", "_rows"),
        *("active", "recorder", "recording", "wants_events"),
    )

    def __init__(self) -> None:
        self.active = False
        """Whether a transaction is open or a recorder listens: only then are changes noted."""
        self.recorder: Recorder | None = None
        self.wants_events = False
        """Whether the next public call is an event: not if it is made by a call being recorded."""
        self.recording = False
        """Whether a call is being recorded: only then are rows kept."""
        self._inverses: list[tuple[Inverse, tuple[Any, ...]]] = []
        self._rows: list[Row] = []
        self._closed: list[tuple[str, Hashable, list[Row], str | None, str | None]] = []
        self._marks: list[tuple[int, int, int]] = []

    # -- what happened -------------------------------------------------------------------------

    def note(self, row: Row, inverse: Inverse | None = None, *args: Any) -> None:
        """Note what was just done, and that ``inverse(*args)`` undoes it, if it is given."""
        if self.recording:
            self._rows.append(row)
        if inverse is not None and self._marks:
            self._inverses.append((inverse, args))

    def note_all(self, rows: Callable[[Unpack[Ts]], Iterable[Row]], *args: *Ts) -> None:
        """:meth:`note` each of ``rows(*args)``; it is not called if nothing is recorded."""
        if self.recording:
            self._rows.extend(rows(*args))

    def undo(self, inverse: Callable[[Unpack[Ts]], object], *args: *Ts) -> None:
        """Note that ``inverse(*args)`` undoes what was just done, for what no row tells."""
        if self._marks:
            self._inverses.append((inverse, args))

    def was(self, owner: Any, *names: str, copied: bool = False) -> None:
        """These attributes are about to change: on a failure they are put back as they are now.

        ``copied``: so is what they hold.
        """
        if self._marks:
            for name in names:
                value = getattr(owner, name)
                self._inverses.append((setattr, (owner, name, copy(value) if copied else value)))

    def was_at(self, place: int | slice, *lists: list[Any]) -> None:
        """:meth:`was` for what these lists hold at an index or in a slice."""
        if self._marks:
            for each in lists:
                self._inverses.append((each.__setitem__, (place, each[place])))

    def append(
        self,
        table: Hashable,
        start: int,
        tokens: Sequence[int],
        inverse: Inverse | None = None,
        *args: Any,
    ) -> None:
        """:meth:`note` that ``table`` begins to write ``tokens``; its blocks tell how.

        UsageError for a token beyond 64 bits: a timeline cannot store it.
        """
        if self.recording:
            check_recordable(tokens)
            self._rows.append((fx.APPEND, table, start, tokens))
        if inverse is not None and self._marks:
            self._inverses.append((inverse, args))

    def patched(self, table: Hashable, start: int, block_ids: Sequence[int]) -> None:
        """:meth:`note` the entries of ``table`` from ``start`` on; ``block_ids`` has all."""
        if self.recording:
            self._rows.append((fx.PATCH, table, start, block_ids[start:]))

    def opened(self, table: Hashable, name: Name) -> None:
        """:meth:`note` that ``table`` begins, empty, as ``name``."""
        self.note((fx.OPEN, table, name, [], 0, []))

    def closed(self, table: Hashable) -> None:
        """:meth:`note` that ``table`` has freed its blocks."""
        self.note((fx.CLOSE, table))

    def move(
        self, who: tuple[Name, Name], source: str | None, target: str | None, place: int = fx.BACK
    ) -> None:
        """Note that a request, with its first sequence, leaves a queue or enters one at a place."""
        self.note_all(fx.moves, who, source, target, place)

    # -- transactions --------------------------------------------------------------------------

    def __enter__(self) -> Journal:
        self._marks.append(self._place())
        self.active = True
        return self

    def _place(self) -> tuple[int, int, int]:
        return len(self._inverses), len(self._rows), len(self._closed)

    def __exit__(
        self, exc_type: type[BaseException] | None, *_: BaseException | TracebackType | None
    ) -> None:
        inverses, rows, closed = self._marks.pop()
        if exc_type is not None:
            marks, self._marks, self.active = self._marks, [], False  # this is not noted itself
            while len(self._inverses) > inverses:
                inverse, args = self._inverses.pop()
                inverse(*args)
            self._marks = marks
            del self._rows[rows:], self._closed[closed:]
        if not self._marks:
            self._inverses.clear()
            self.active = self.recorder is not None
            self._publish()
        else:
            self.active = True

    def _publish(self) -> None:
        closed, self._closed = self._closed, []
        if self.recorder is not None:
            for event in closed:
                self.recorder.event(*event)

    # -- events --------------------------------------------------------------------------------

    def listen(self, recorder: Recorder | None) -> None:
        """Send all events from now on to ``recorder``; None ends the recording."""
        self.recorder = recorder
        self.wants_events = recorder is not None
        self.active = bool(self._marks) or recorder is not None

    def close(self, kind: str, subject: Hashable) -> None:
        """Make one event of what was noted since the last one."""
        rows, self._rows = self._rows, []
        if len(self._marks) > 1 or self.recorder is None:  # it may yet be undone
            self._closed.append((kind, subject, rows, None, None))
        else:
            self.recorder.event(kind, subject, rows, None, None)

    def decided(self, kind: str, subject: Hashable) -> None:
        """:meth:`close` a part of a recorded call that is an event of its own; else nothing."""
        if self.recording:
            self.close(kind, subject)

    def fail(self, called: str, subject: Hashable, error: BaseException) -> None:
        """A call raised and was undone: record only that it failed."""
        self._closed.append((fx.FAILED, subject, [], called, str(error) or type(error).__name__))
        if not self._marks:
            self._publish()

    @property
    def _has_queues(self) -> bool:
        return self.recorder is not None and self.recorder.has_queues

    @contextmanager
    def step(self, called: str, may_fail: bool = False) -> Iterator[int | None]:
        """A step of a scheduler, whose parts are separate events; if it raises, one event says so.

        Gives its number in a recording, for :meth:`resume`. It is a transaction if it ``may_fail``
        midway, or is recorded.
        """
        if not (may_fail or self.active):
            yield None
            return
        number = None
        if self.recorder is not None and self._has_queues:
            self.recorder.begin_step()
            number = self.recorder.step
        try:
            with self:
                yield number
        except BaseException as error:
            if number is not None:
                self.fail(called, None, error)
            raise

    def resume(self, step: int | None) -> None:
        """The events from here on belong to this earlier step, if it was recorded."""
        if step is not None and self.recorder is not None and self._has_queues:
            self.recorder.begin_step(step)


class _Event(NamedTuple):
    """A method whose calls are events; :func:`event` says what the fields mean."""

    method: Callable[..., Any]
    kind: str
    called: str
    subject: Callable[..., Hashable]
    if_changed: bool
    of_table: bool

    def record(self, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make one call: a transaction, and one event with all that it calls."""
        journal: Journal = owner.journal
        journal.wants_events, journal.recording = False, True
        marks = journal._marks
        marks.append(journal._place() if marks else START)
        if self.of_table and journal.recorder and owner not in journal.recorder.tables:
            journal.note(owner.opening())
        try:
            result = self.method(owner, *args, **kwargs)
            if journal._rows or not self.if_changed:
                journal.close(self.kind, self.subject(owner, result, *args, *kwargs.values()))
            marks.pop()
            if not marks:
                journal._inverses.clear()
        except BaseException as error:
            journal.__exit__(type(error), error, None)
            clear = explain(error, self.method, (owner, *args), kwargs)
            journal.fail(self.called, self.whom(owner, None, *args, *kwargs.values()), clear)
            if clear is error:
                raise
            raise clear from None
        finally:
            journal.wants_events, journal.recording = journal.recorder is not None, False
        return result

    def whom(self, *given: Any) -> Hashable:
        """Whom a call that failed concerned; None if what was passed has and can get no name."""
        try:
            subject = self.subject(*given)
            if not isinstance(subject, int | str | None):
                ref(subject)
        except (AttributeError, TypeError):
            return None
        return subject


def event(
    subject: Callable[..., Hashable] | None = None,
    kind: str | None = None,
    called: str | None = None,
    queues: bool = False,
    if_changed: bool = False,
    of_table: bool = False,
    atomic: bool = False,
) -> Callable[[Callable[Concatenate[Owner, P], R]], Callable[Concatenate[Owner, P], R]]:
    """While a recorder listens, make each outermost call of a method an event and a transaction.

    ``subject(self, result, *args)`` is the table concerned, or its name. ``kind`` is the event's
    kind, and ``called`` names the call if it fails; both default to the method's name. ``queues``
    marks a scheduler's decision: not an event where only its block manager is recorded. With
    ``if_changed``, a call that noted nothing is not an event. A method ``of_table`` concerns its
    table, and first tells a recorder that has not seen the table what it holds: its ``opening()``.
    An ``atomic`` one is a transaction even without a recorder. All such calls are `explained`.
    """
    whom = subject or (lambda self, *_: self if of_table else None)

    def decorate(method: Callable[Concatenate[Owner, P], R]) -> Callable[Concatenate[Owner, P], R]:
        method, name = checked(method), kind or method.__name__
        record = _Event(method, name, called or name, whom, if_changed, of_table).record

        @functools.wraps(method)
        def call(self: Owner, *args: P.args, **kwargs: P.kwargs) -> R:
            journal = self.journal
            if journal.wants_events and (not queues or journal._has_queues):
                return record(self, args, kwargs)  # type: ignore[no-any-return]
            try:
                if atomic and not journal._marks:
                    with journal:
                        return method(self, *args, **kwargs)
                return method(self, *args, **kwargs)
            except RAW as error:
                raise explain(error, method, (self, *args), kwargs) from None

        return call  # type: ignore[return-value]

    return decorate
