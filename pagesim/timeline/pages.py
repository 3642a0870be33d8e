"""The pages at one moment of a log, changed row by row; what an effect does stands in `effects`."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from typing import Any, ClassVar

from pagesim.journal import effects as fx
from pagesim.journal.effects import EFFECTS, ImpossibleError, Name, Row
from pagesim.journal.state import Job, Queues, State
from pagesim.timeline.log import Log


class Waiting:
    """The blocks of one list, front first: removal and insertion at either end take O(1).

    ``front`` holds the blocks added at the front, newest last; ``back`` holds all others.
    """

    __slots__ = ("back", "front", "is_sorted")

    def __init__(self, ids: Iterable[int], is_sorted: bool) -> None:
        self.back: dict[int, None] = dict.fromkeys(ids)
        self.front: dict[int, None] = {}
        self.is_sorted = is_sorted

    def add(self, block: int, place: int) -> None:
        """Add the block at the front or at the back."""
        (self.front if place == fx.FRONT else self.back)[block] = None

    def discard(self, block: int) -> bool:
        """Remove the block; returns whether it was there."""
        if block in self.front:
            del self.front[block]
        elif block in self.back:
            del self.back[block]
        else:
            return False
        return True

    def __contains__(self, block: int) -> bool:
        return block in self.front or block in self.back

    def __iter__(self) -> Iterator[int]:
        blocks = [*reversed(self.front), *self.back]
        return iter(sorted(blocks) if self.is_sorted else blocks)


@dataclass
class Pages:
    """A state that changes row by row."""

    lists: dict[str, Waiting]
    refs: array[int]
    cached: set[int]
    computed: set[int]
    tables: dict[Name, list[int]]
    num_slots: dict[Name, int]
    num_tokens: dict[Name, int]
    tokens: dict[Name, list[int]]
    """The tokens of each table, known or maybe later ones behind them: copies share it."""
    null_block: int | None
    queues: dict[str, list[tuple[Name, Name | None]]]
    jobs: dict[int, Job]
    """The copies between the tiers that are under way."""
    is_strict: bool = False
    """Whether what cannot happen is an error: it may in a run of classes that are wrong."""

    @staticmethod
    def from_start(log: Log) -> Pages:
        """The state in which ``log`` begins."""
        state = log.start
        refs = array("i", bytes(4 * state.num_blocks))
        for block, count in state.ref_counts.items():
            refs[block] = count
        return Pages(
            {name: Waiting(ids, name in state.sorted_lists) for name, ids in state.lists.items()},
            refs,
            set(state.cached),
            set(state.computed),
            {name: list(table.block_ids) for name, table in state.tables.items()},
            {name: table.num_slots for name, table in state.tables.items()},
            {name: table.num_tokens for name, table in state.tables.items()},
            {name: list(table.token_ids) for name, table in state.tables.items()},
            state.null_block,
            {
                queue: [(request, state.requests.get(request)) for request in requests]
                for queue, requests in state.queues.items()
            },
            {job.job: job for job in state.jobs},
        )

    def copy(self, lists: dict[str, Waiting]) -> Pages:
        """An independent copy of the state with these lists."""
        return Pages(
            lists,
            self.refs[:],
            self.cached.copy(),
            self.computed.copy(),
            {name: ids.copy() for name, ids in self.tables.items()},
            self.num_slots.copy(),
            self.num_tokens.copy(),
            self.tokens.copy(),
            self.null_block,
            {name: queue.copy() for name, queue in self.queues.items()},
            self.jobs.copy(),
        )

    @property
    def nbytes(self) -> int:
        """The approximate size of the containers in bytes."""
        parts: list[Sized] = [self.refs, self.cached, self.computed, self.num_slots]
        parts += [
            self.jobs,
            self.num_tokens,
            self.tables,
            *self.tables.values(),
            *self.queues.values(),
        ]
        for waiting in self.lists.values():
            parts += [waiting.back, waiting.front]
        return sum(map(sys.getsizeof, parts))

    def apply(self, row: Row) -> None:
        """Carry out a row."""
        kind, *what = row
        if kind in EFFECTS:
            EFFECTS[kind].apply(self, *what)
        elif kind in self._changes:
            self._changes[kind](self, *what)

    def fill(self, table: Name | None, end: int) -> None:
        """Note that the positions up to ``end`` of a table are written; None stands for none."""
        if table is not None and end > self.num_slots[table]:
            self.num_slots[table] = end

    def need(self, is_so: bool, problem: str) -> None:
        """ImpossibleError unless it is so."""
        if self.is_strict and not is_so:
            raise ImpossibleError(problem)

    def _patch(self, table: Name, entry: int, *ids: int) -> None:
        self.tables[table][entry:] = ids

    def _open(self, table: Name, num_slots: int, *tokens: int) -> None:
        self.tables[table], self.tokens[table] = [], list(tokens)
        self.num_slots[table], self.num_tokens[table] = num_slots, len(self.tokens[table])

    def _close(self, table: Name) -> None:
        del self.tables[table], self.num_slots[table], self.num_tokens[table], self.tokens[table]

    def _know(self, table: Name, first: int, *tokens: int) -> None:
        end = self.num_tokens[table] = first + len(tokens)
        self.tokens[table][first:end] = tokens

    def _leave(self, queue: str, place: int, *_: Name) -> None:
        del self.queues[queue][place]

    def _enter(self, queue: str, place: int, *waiter: Any) -> None:
        self.queues[queue].insert(place, waiter)

    def _begin(self, *job: Any) -> None:
        self.need(job[0] not in self.jobs, "it is under way already")
        self.jobs[job[0]] = Job(*job)

    def _end(self, job: int) -> None:
        self.need(job in self.jobs, "it is not under way")
        del self.jobs[job]

    _changes: ClassVar[dict[str, Callable[..., None]]] = {
        fx.PATCH: _patch,
        fx.OPEN: _open,
        fx.CLOSE: _close,
        fx.TOKENS: _know,
        fx.LEAVE: _leave,
        fx.ENTER: _enter,
        fx.BEGIN: _begin,
        fx.END: _end,
    }

    def state(self, start: State) -> State:
        """The present state of a run that began with ``start``."""
        tables = {
            name: start.group_of(name).table(
                tuple(ids),
                tuple(self.tokens[name][: self.num_tokens[name]]),
                self.null_block,
                self.num_slots[name],
            )
            for name, ids in self.tables.items()
        }
        waiters = (waiter for queue in self.queues.values() for waiter in queue)
        return State(
            block_size=start.block_size,
            pools=start.pools,
            caching=start.caching,
            tables=tables,
            ref_counts=dict(enumerate(self.refs)),
            lists={name: tuple(waiting) for name, waiting in self.lists.items()},
            cached=frozenset(self.cached),
            computed=frozenset(b for b in self.computed if self.refs[b] or b in self.cached),
            null_block=self.null_block,
            queues=Queues(
                (name, tuple(request for request, _ in queue))
                for name, queue in self.queues.items()
            ),
            requests={request: name for request, name in waiters if name is not None},
            sorted_lists=start.sorted_lists,
            groups=start.groups,
            tier=start.tier,
            jobs=tuple(self.jobs.values()),
        )
