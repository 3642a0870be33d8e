"""Finds the state of a log at any step by running forward from the nearest copy.

Nothing here knows a policy. A block leaves the list that it is in and goes to the end of the list
that the row names.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pagesim.journal import effects as fx
from pagesim.journal.state import Queues, State, TableState
from pagesim.timeline.log import Log, Row, Waiter

EVERY = 4096
"""Events between two copies: a copy takes about 50 kB for a pool of 4,096 blocks."""

MAX_KEPT = 64 * 2**20
"""Bytes that the copies of one run may take; beyond that every second copy is dropped."""


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


@dataclass(slots=True)
class MutableState:
    """A state that changes event by event; its tables are numbered by their lifetimes."""

    lists: list[Waiting]
    refs: array[int]
    cached: set[int]
    computed: set[int]
    tables: dict[int, list[int]]
    num_slots: dict[int, int]
    num_tokens: dict[int, int]
    null_block: int | None
    queues: list[list[Waiter]]

    @staticmethod
    def from_start(log: Log, lives: Iterable[int]) -> MutableState:
        """The state in which ``log`` begins; ``lives`` number its tables."""
        state = log.start
        refs = array("i", bytes(4 * state.num_blocks))
        for block, count in state.ref_counts.items():
            refs[block] = count
        tables = dict(zip(lives, state.tables.values(), strict=True))
        return MutableState(
            lists=[Waiting(ids, name in state.sorted_lists) for name, ids in state.lists.items()],
            refs=refs,
            cached=set(state.cached),
            computed=set(state.computed),
            tables={life: list(table.block_ids) for life, table in tables.items()},
            num_slots={life: table.num_slots for life, table in tables.items()},
            num_tokens={life: table.num_tokens for life, table in tables.items()},
            null_block=state.null_block,
            queues=log.first_queues(),
        )

    def copy(self, lists: list[Waiting]) -> MutableState:
        """An independent copy of the state with these lists."""
        return MutableState(
            lists,
            self.refs[:],
            self.cached.copy(),
            self.computed.copy(),
            {life: ids.copy() for life, ids in self.tables.items()},
            self.num_slots.copy(),
            self.num_tokens.copy(),
            self.null_block,
            [queue.copy() for queue in self.queues],
        )

    @property
    def nbytes(self) -> int:
        """The approximate size of the containers in bytes."""
        parts: list[object] = [self.refs, self.cached, self.computed, self.num_slots]
        parts += [self.num_tokens, self.tables, *self.tables.values(), *self.queues]
        for waiting in self.lists:
            parts += [waiting.back, waiting.front]
        return sum(map(sys.getsizeof, parts))

    def step(self, log: Log, row: Row) -> None:
        """Apply one row."""
        kind, block, b, c, d = row
        if kind == fx.TOKENS:
            self.num_tokens[b] = c + d
        elif kind == fx.WRITE:
            self.fill(b, c + d)
        elif kind == fx.TAKE:
            self.lists[b].discard(block)
            self.refs[block] = 1
            self.computed.discard(block)
        elif kind == fx.PATCH:
            self.tables[b][block:] = log.ids(c, d)
        elif kind == fx.FREE:
            self.refs[block] = 0
            self.lists[b].add(block, c)
        elif kind == fx.SHARE:
            self.refs[block] += 1
        elif kind == fx.UNSHARE:
            self.refs[block] -= 1
        elif kind == fx.HIT:
            if not self.refs[block]:
                any(waiting.discard(block) for waiting in self.lists)
            self.refs[block] += 1
            self.fill(b, c + d)
        elif kind == fx.CACHE:
            self.cached.add(block)
        elif kind == fx.COMPUTED:
            self.computed.add(block)
        elif kind == fx.EVICT:
            self.cached.discard(block)
        elif kind == fx.NULL:
            self.null_block = block
        elif kind == fx.OPEN:
            self.tables[b] = []
            self.num_slots[b], self.num_tokens[b] = block, d
        elif kind == fx.CLOSE:
            del self.tables[b], self.num_slots[b], self.num_tokens[b]
        elif kind == fx.LEAVE:
            del self.queues[block][c]
        elif kind == fx.ENTER:
            self.queues[block].insert(c, (b, d))

    def fill(self, life: int, end: int) -> None:
        """Note that the positions up to ``end`` of a table are written; -1 stands for none."""
        if life >= 0 and end > self.num_slots[life]:
            self.num_slots[life] = end

    def state(self, log: Log) -> State:
        """The present state."""
        start, refs, cached = log.start, self.refs, self.cached
        tables = {}
        for life, ids in self.tables.items():
            table = log.tables[life]
            tables[table.name] = TableState.of(
                tuple(ids),
                tuple(table.tokens[: self.num_tokens[life]]),
                start.block_size,
                self.null_block,
                self.num_slots[life],
            )
        waiters = [[log.names(waiter) for waiter in queue] for queue in self.queues]
        names = (tuple(request for request, _ in queue) for queue in waiters)
        return State(
            block_size=start.block_size,
            pools=start.pools,
            caching=start.caching,
            tables=tables,
            ref_counts=dict(enumerate(refs)),
            lists=dict(zip(log.lists, map(tuple, self.lists), strict=True)),
            cached=frozenset(cached),
            computed=frozenset(b for b in self.computed if refs[b] or b in cached),
            null_block=self.null_block,
            queues=Queues(zip(log.queues, names, strict=True)),
            requests={
                request: sequence
                for queue in waiters
                for request, sequence in queue
                if sequence is not None
            },
            sorted_lists=start.sorted_lists,
        )


class Kept:
    """A copy of a state whose lists take four bytes per block instead of a dict's."""

    def __init__(self, state: MutableState) -> None:
        self._state = state.copy([])
        self._lists = [(array("i", waiting), waiting.is_sorted) for waiting in state.lists]
        self.nbytes = self._state.nbytes + sum(sys.getsizeof(ids) for ids, _ in self._lists)

    def state(self) -> MutableState:
        """The state, free to be changed."""
        return self._state.copy([Waiting(*waiting) for waiting in self._lists])


class Seeker:
    """The state of a log at any step, forwards and backwards."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._begin()

    def _begin(self) -> None:
        self._start = self._log.start
        self._every = EVERY
        self._here = MutableState.from_start(self._log, self._log.first_lives)
        self._at = 0
        self._kept = [Kept(self._here)]

    @property
    def nbytes(self) -> int:
        """Memory used by the copies in bytes."""
        return sum(kept.nbytes for kept in self._kept) + self._here.nbytes

    def _keep(self) -> None:
        """Keep a copy of the current state; if the copies grow too large, drop every second one."""
        self._kept.append(Kept(self._here))
        if len(self._kept) > 2 and sum(kept.nbytes for kept in self._kept) > MAX_KEPT:
            self._kept, self._every = self._kept[::2], 2 * self._every

    def state(self, index: int) -> State:
        """The state after ``index`` events."""
        if self._start is not self._log.start:  # tables or queues were added to it
            self._begin()
        nearest = min(index // self._every, len(self._kept) - 1)
        if not nearest * self._every <= self._at <= index:
            self._here, self._at = self._kept[nearest].state(), nearest * self._every
        while self._at < index:
            end = len(self._kept) * self._every  # where the next copy is due
            stop = min(index, end)
            for row in self._log.rows(self._at, stop):
                self._here.step(self._log, row)
            self._at = stop
            if stop == end:
                self._keep()
        return self._here.state(self._log)
