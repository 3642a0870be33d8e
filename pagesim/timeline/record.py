"""`with pagesim.record(manager) as run:` records everything that happens in the block."""

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Protocol, runtime_checkable

from pagesim.errors import UsageError
from pagesim.journal import Journal
from pagesim.journal import effects as fx
from pagesim.journal.effects import Name, Row, request_name
from pagesim.journal.state import Queues, State, TableState
from pagesim.timeline.asked import asked_of
from pagesim.timeline.log import START, Log
from pagesim.timeline.names import Names
from pagesim.timeline.run import Timeline
from pagesim.timeline.tiers import tier_rows, with_empty_tier
from pagesim.v1.block_pool import BlockPool
from pagesim.v1.kv_cache_manager import KVCacheManager
from pagesim.v1.scheduler import Scheduler

Request = tuple[Any, ...]
"""A request in a queue: its id, and its first sequence."""


@runtime_checkable
class Recordable(Protocol):
    """Anything that writes into a journal and can report its state."""

    @property
    def journal(self) -> Journal: ...

    def state(self) -> State: ...


@contextmanager
def record(subject: Recordable) -> Iterator[Timeline]:
    """Record what happens to the pages of a scheduler, a block manager, or an allocator.

    A scheduler's decisions are recorded as well: the run then numbers the calls of ``schedule()``
    as steps, and every state has the queues.

    The run can be read while it is being recorded, and it keeps its events if an exception ends the
    block. Recorders nest: if two record one allocator, both see the same events while both are
    active. An allocator that belongs to a GPU/CPU pair is recorded together with the other one.
    TypeError for an object that cannot be recorded; during recording, a token beyond 64 bits raises
    UsageError.
    """
    if not isinstance(subject, Recordable) or not isinstance(subject.journal, Journal):
        raise TypeError(f"record takes a scheduler, block manager or allocator, not {subject!r}")
    journal, state = subject.journal, subject.state()
    recording = journal.recorder
    if not isinstance(recording, Recording):
        recording = Recording(journal, state)
        journal.listen(recording)
    else:
        recording.include(state)
    recording.listeners += 1
    log = recording.log
    if not log.asked.settings:
        log.asked = asked_of(subject)
    run = Timeline(log, start=len(log), recording=recording)
    run.notes = replace(run.notes, kv_events=heard_pools(subject))
    try:
        yield run
    finally:
        run._stop, run._recording = len(log), None
        recording.listeners -= 1
        if not recording.listeners:
            journal.listen(None)
            recording.tables.clear()


def heard_pools(subject: object) -> tuple[str, ...]:
    """Of which pools routers hear: those of a scheduler of V1, a manager, or a pool."""
    scheduler = subject if isinstance(subject, Scheduler) else None
    manager = scheduler.kv_cache_manager if scheduler else subject
    pool = manager.block_pool if isinstance(manager, KVCacheManager) else manager
    heard = []
    if isinstance(pool, BlockPool) and pool.enable_kv_cache_events:
        heard.append("GPU")
    if scheduler and scheduler.connector and scheduler.connector.manager.enable_events:
        heard.append("CPU")
    return tuple(heard)


class Table:
    """A table that exists: what stands for it in rows, and the tokens that are known."""

    __slots__ = ("key", "tokens")

    def __init__(self, key: Hashable, tokens: Iterable[int]) -> None:
        self.key = key
        self.tokens: array[int] = array("q")
        self.write(tokens)

    def write(self, tokens: Iterable[int]) -> None:
        """Append tokens. UsageError for one beyond 64 bits."""
        tokens = list(tokens)
        fx.check_recordable(tokens)
        self.tokens.fromlist(tokens)


class Recording:
    """Appends what a journal reports to a log; in its rows, names stand for tables and requests.

    ``tables`` are the live ones.
    """

    def __init__(self, journal: Journal, state: State) -> None:
        self.journal, self.listeners, self.step = journal, 0, 0
        self.log = Log(replace(state, live={}))
        self.tables: dict[Hashable, Table] = {}
        self.names = Names(self.tables.__contains__, self.log.rename)
        self._queues: dict[str, list[Request]] = {
            queue: [(request, state.requests.get(request)) for request in requests]
            for queue, requests in state.queues.items()
        }
        self.has_queues = bool(self._queues)
        self._step: int | None = None
        self._rows: list[Row] = []
        self._writing: Hashable = None
        self._position = 0
        self._begin(state.tables, state.live)

    def _begin(self, tables: Mapping[Name, TableState], live: Mapping[Name, Hashable]) -> None:
        """Begin the histories of tables that are there from the start."""
        for name, table in tables.items():
            self.names.free(name, len(self.log))
            key = self.names.give(live[name], name, START)
            self.tables[live[name]] = Table(key, table.token_ids)

    def include(self, state: State) -> None:
        """Add tables and queues that were not recorded so far to the initial state.

        Nothing has happened to those tables yet, or their histories would have begun. The requests
        in the queues, and what a second tier holds, are added by a separate event.
        """
        new = {n: t for n, t in state.tables.items() if state.live[n] not in self.tables}
        self._begin(new, state.live)
        start = self.log.start
        if new:
            start = replace(start, tables={**start.tables, **new})
        rows: list[Row] = []
        if state.queues and not self.has_queues:
            start = replace(start, queues=Queues(dict.fromkeys(state.queues, ())))
            self._queues, self.has_queues = {queue: [] for queue in state.queues}, True
        if state.tier and not start.tier:
            start = with_empty_tier(start, state)
            rows += tier_rows(state)
        self.log.start = start
        if any(state.queues.values()) and not any(self._queues.values()):
            rows += [
                (fx.QUEUE, queue, [(name, state.requests.get(name)) for name in requests])
                for queue, requests in state.queues.items()
            ]
        if rows:
            self.event("record", None, rows, None, None)

    # -- what the journal reports ----------------------------------------------------------------

    def begin_step(self, number: int | None = None) -> None:
        """The following events belong to the next step of a scheduler, or to an earlier one."""
        if number is None:
            number = self.step = self.step + 1
        self._step = number

    def event(
        self, kind: str, subject: Hashable, rows: list[Row], called: str | None, error: str | None
    ) -> None:
        """Log one event. Blocks are written in the order of the tokens their table announced."""
        done: list[Row] = []
        self._rows, self._writing, self._position = done, None, 0
        for row in rows:
            what = row[0]
            if what == fx.WRITE:
                done.append((what, row[1], self._writing, self._position, row[2]))
                self._position += row[2] if self._writing is not None else 0
            elif what == fx.APPEND:
                _, table, self._position, tokens = row
                history = self.tables.get(table)
                self._writing = None if history is None else history.key
                if history is not None and tokens:
                    history.tokens.fromlist(tokens)
                    done.append((fx.TOKENS, history.key, self._position, *tokens))
            elif what in self._named:
                self._named[what](self, *row[1:])
            else:
                done.append(row)
        if kind == fx.FAILED:
            why = (error or "").encode(errors="backslashreplace").decode()[: fx.MAX_NAME]
            done.append((fx.FAILED, called or "", why))
        self.log.entries.append((kind, self._key(subject), self._step, *done))

    def _key(self, subject: Hashable) -> Hashable:
        if subject is None or isinstance(subject, int | str):
            return self.names.key(subject)
        return self.names.of(subject, len(self.log))

    # -- rows that concern tables ----------------------------------------------------------------

    def _hit(self, block: int, count: int) -> None:
        if count and self._writing is not None:
            self._rows.append((fx.HIT, block, self._writing, self._position, count))
            self._position += count
        else:  # of 0 tokens, it adds none to the table
            self._rows.append((fx.HIT, block, None, 0, count))

    def _know(self, table: Hashable, tokens: Sequence[int], end: int) -> None:
        history = self.tables[table]
        first = len(history.tokens)
        if new := tokens[first:end]:
            history.write(new)
            self._rows.append((fx.TOKENS, history.key, first, *new))

    def _patch(self, table: Hashable, entry: int, block_ids: list[int]) -> None:
        self._rows.append((fx.PATCH, self.tables[table].key, entry, *block_ids))

    def _null(self, block: int, table: Hashable, entry: int | None) -> None:
        name = None if table is None else self.tables[table].key
        self._rows.append((fx.NULL, block, name, entry))

    def _open(
        self, table: Hashable, name: Name | None, tokens: Any, num_slots: int, block_ids: list[int]
    ) -> None:
        """A table begins; ``tokens`` are its own, or the table that it forks."""
        now = len(self.log)
        if name is not None and (table in self.tables or not self.names.has(table)):
            self.names.take(table, name, now)
        if table in self.tables:
            return
        if not isinstance(tokens, list):
            tokens = self.tables[tokens].tokens[:num_slots]
        new = self.tables[table] = Table(self.names.of(table, now), tokens)
        self._rows.append((fx.OPEN, new.key, num_slots, *tokens))
        if block_ids:
            self._rows.append((fx.PATCH, new.key, 0, *block_ids))

    def _close(self, table: Hashable) -> None:
        if table in self.tables:
            self._rows.append((fx.CLOSE, self.tables.pop(table).key))

    def label(self, table: Any, name: Name) -> None:
        """Name a table for the whole run. UsageError if another table has that name."""
        if table.journal is not self.journal:
            raise UsageError(f"the table for {name!r} belongs to an allocator not recorded here")
        self.names.call(table, name, len(self.log))

    # -- rows that concern queues ----------------------------------------------------------------

    def _scheduled(
        self, request: Hashable, sequence: Name | None, tokens: int, is_prompt: bool
    ) -> None:
        if self.has_queues:
            name, key = self._waiter(request, sequence)
            self._rows.append((fx.SCHEDULED, name, key, tokens, is_prompt))

    def _leave(self, queue: str, *request: Hashable) -> None:
        if not self.has_queues:
            return
        requests = self._queues[queue]
        is_last = requests[-1:] == [request]
        try:
            place = len(requests) - 1 if is_last else requests.index(request)
        except ValueError:  # its first sequence has ended, and another is the first now
            place = [name for name, _ in requests].index(request[0])
        self._rows.append((fx.LEAVE, queue, place, *self._waiter(*requests.pop(place))))

    def _enter(self, queue: str, request: Hashable, sequence: Name | None, place: int) -> None:
        if not self.has_queues:
            return
        place = len(self._queues[queue]) if place < 0 else place
        self._queues[queue].insert(place, (request, sequence))
        self._rows.append((fx.ENTER, queue, place, *self._waiter(request, sequence)))

    def _arrange(self, queue: str, now: Sequence[Request]) -> None:
        """Put a queue in this order; the requests between the first and last change move."""
        if not self.has_queues:
            return
        known = self._queues[queue].copy()
        first = last = 0
        shorter = min(len(known), len(now))
        while first < shorter and known[first] == now[first]:
            first += 1
        while last < shorter - first and known[-1 - last] == now[-1 - last]:
            last += 1
        for request in known[first : len(known) - last]:
            self._leave(queue, *request)
        for place, (request, sequence) in enumerate(now[first : len(now) - last], first):
            self._enter(queue, request, sequence, place)

    def _prompt(self, request: Hashable, num_tokens: int) -> None:
        """The header of the run has it, not its event."""
        self.log.asked.prompts[request_name(request)] = num_tokens

    def _begun(self, job: int, kind: str, request: Hashable, blocks: Row) -> None:
        self._rows.append((fx.BEGIN, job, kind, request_name(request), blocks))

    def _waiter(self, request: Hashable, sequence: Name | None) -> tuple[Name, Hashable]:
        return request_name(request), self.names.key(sequence)

    _named: ClassVar[dict[str, Callable[..., None]]] = {
        fx.HIT: _hit,
        fx.KNOWN: _know,
        fx.PATCH: _patch,
        fx.NULL: _null,
        fx.OPEN: _open,
        fx.CLOSE: _close,
        fx.SCHEDULED: _scheduled,
        fx.LEAVE: _leave,
        fx.ENTER: _enter,
        fx.QUEUE: _arrange,
        fx.BEGIN: _begun,
        fx.PROMPT: _prompt,
    }
    """How the other rows are named that concern tables or queues; the rest is kept as it is."""
