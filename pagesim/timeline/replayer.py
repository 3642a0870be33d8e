"""Runs a log forward from a known state; keeps copies on the way, so that any step is near one."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

from pagesim.timeline.effects import (
    CLOSE,
    ENTER,
    EVICT,
    HIT,
    LEAVE,
    NULL,
    OPEN,
    PATCH,
    PROMOTE,
    RETURN,
    SHARE,
    TAKE,
    UNSHARE,
    WRITE,
    Queues,
)
from pagesim.timeline.log import Log, Row, Waiter
from pagesim.timeline.state import State, TableState, fill_of

EVERY = 4096
"""Events from one kept copy to the next: a copy costs some 50 kB in a pool of 4,096 blocks."""

MAX_KEPT = 64 * 2**20
"""Bytes that the kept copies of one run may take; beyond that every second one goes."""

MARK = "mark_blocks_as_computed"


@dataclass(slots=True)
class Machine:
    """The state as it is changed, event by event. Free lists are stacks, their front at the end."""

    num_gpu_blocks: int
    free: tuple[list[int], list[int]]
    refs: array[int]
    evictor: tuple[dict[int, None], dict[int, None]]
    cached: set[int]
    touched: set[int]
    computed: set[int]
    tables: dict[int, list[int]]
    num_tokens: dict[int, int]
    null_block: int | None
    queues: tuple[list[Waiter], ...]

    @staticmethod
    def from_start(log: Log, lives: Iterable[int]) -> Machine:
        """A machine that stands where ``log`` begins; ``lives`` number its tables."""
        state = log.start
        total = state.num_gpu_blocks + state.num_cpu_blocks
        refs = array("i", bytes(4 * total))
        for block, count in state.ref_counts.items():
            refs[block] = count
        tables = dict(zip(lives, state.tables.values(), strict=True))
        return Machine(
            num_gpu_blocks=state.num_gpu_blocks,
            free=(list(reversed(state.free_gpu)), list(reversed(state.free_cpu))),
            refs=refs,
            evictor=(dict.fromkeys(state.evictor_gpu), dict.fromkeys(state.evictor_cpu)),
            cached=set(state.cached),
            touched=set(state.touched),
            computed=set(state.computed),
            tables={life: list(table.block_ids) for life, table in tables.items()},
            num_tokens={life: table.num_tokens for life, table in tables.items()},
            null_block=state.null_block,
            queues=log.first_queues(),
        )

    def copy(self) -> Machine:
        """A machine that goes on separately from here."""
        return Machine(
            num_gpu_blocks=self.num_gpu_blocks,
            free=(self.free[0].copy(), self.free[1].copy()),
            refs=self.refs[:],
            evictor=(self.evictor[0].copy(), self.evictor[1].copy()),
            cached=self.cached.copy(),
            touched=self.touched.copy(),
            computed=self.computed.copy(),
            tables={life: ids.copy() for life, ids in self.tables.items()},
            num_tokens=self.num_tokens.copy(),
            null_block=self.null_block,
            queues=tuple(queue.copy() for queue in self.queues),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the containers take, about."""
        parts: list[object] = [*self.free, self.refs, *self.evictor, self.cached, self.touched]
        parts += [self.computed, self.tables, self.num_tokens, *self.tables.values(), *self.queues]
        return sum(map(sys.getsizeof, parts))

    def apply(self, log: Log, index: int) -> None:
        """Let one event happen."""
        for row in log.rows_of(index):
            self.step(log, row)
        self.after(log.kind_of(index))

    def after(self, event: str) -> None:
        """What the kind of an event means by itself."""
        if event == MARK:
            self.computed |= self.touched
            self.touched.clear()

    def step(self, log: Log, row: Row) -> None:
        """Let one row happen."""
        kind, block, b, c, d = row
        refs = self.refs
        if kind == WRITE:
            self.add_tokens(b, d)
        elif kind == TAKE:
            stack = self.free[block >= self.num_gpu_blocks]
            if stack and stack[-1] == block:
                stack.pop()
            refs[block] = 1
            self.computed.discard(block)
        elif kind == PATCH:
            self.tables.setdefault(b, [])[block:] = log.ids(c, d)
            self.add_tokens(b, 0)
        elif kind == RETURN:
            refs[block] = 0
            device = block >= self.num_gpu_blocks
            if block in self.cached:
                self.evictor[device][block] = None
            else:
                self.free[device].append(block)
        elif kind == SHARE:
            refs[block] += 1
        elif kind == UNSHARE:
            refs[block] -= 1
        elif kind == HIT:
            refs[block] += 1
            if refs[block] == 1:
                del self.evictor[block >= self.num_gpu_blocks][block]
                self.computed.add(block)
            self.add_tokens(b, d)
        elif kind == PROMOTE:
            self.cached.add(block)
            if block < self.num_gpu_blocks:
                self.touched.add(block)
        elif kind == EVICT:
            del self.evictor[block >= self.num_gpu_blocks][block]
            self.cached.discard(block)
        elif kind == NULL:
            self.null_block = block
        elif kind == OPEN:
            self.tables[b] = []
            self.num_tokens[b] = d
        elif kind == CLOSE:
            del self.tables[b], self.num_tokens[b]
        elif kind == LEAVE:
            del self.queues[block][c]
        elif kind == ENTER:
            self.queues[block].insert(c, (b, d))

    def add_tokens(self, life: int, count: int) -> None:
        """A table, perhaps one that just begins, was given tokens; life -1 is no table."""
        if life >= 0:
            self.num_tokens[life] = self.num_tokens.get(life, 0) + count

    def state(self, log: Log) -> State:
        """What it looks like now."""
        start, total = log.start, len(self.refs)
        tables = {}
        for life, ids in self.tables.items():
            block_ids, count = tuple(ids), self.num_tokens[life]
            fill = fill_of(block_ids, count, start.block_size, self.null_block)
            tables[log.tables[life].name] = TableState(
                block_ids, tuple(log.tables[life].tokens[:count]), fill
            )
        used = {block for block in self.computed if self.refs[block]}
        queues = [[log.names(waiter) for waiter in queue] for queue in self.queues]
        return State(
            block_size=start.block_size,
            num_gpu_blocks=start.num_gpu_blocks,
            num_cpu_blocks=start.num_cpu_blocks,
            caching=start.caching,
            tables=tables,
            ref_counts=dict(zip(range(total), self.refs, strict=True)),
            free_gpu=tuple(reversed(self.free[0])),
            free_cpu=tuple(reversed(self.free[1])),
            evictor_gpu=tuple(self.evictor[0]),
            evictor_cpu=tuple(self.evictor[1]),
            cached=frozenset(self.cached),
            touched=frozenset(self.touched),
            computed=frozenset(used.union(*self.evictor)),
            null_block=self.null_block,
            queues=Queues(*(tuple(request for request, _ in queue) for queue in queues)),
            requests={
                request: sequence
                for queue in queues
                for request, sequence in queue
                if sequence is not None
            },
        )


class Replayer:
    """The state of a log at any step, forwards and backwards."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._begin()

    def _begin(self) -> None:
        self._start = self._log.start
        self._every = EVERY
        self._kept = [Machine.from_start(self._log, self._log.first_lives)]
        self._kept_bytes = self._kept[0].nbytes
        self._at = 0
        self._machine = self._kept[0].copy()

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the kept copies take."""
        return self._kept_bytes + self._machine.nbytes

    def _keep(self) -> None:
        """Keep a copy of where we are; in a huge pool, only half as many as before."""
        self._kept.append(self._machine.copy())
        self._kept_bytes += self._machine.nbytes
        if self._kept_bytes > MAX_KEPT and len(self._kept) > 2:
            self._kept, self._every = self._kept[::2], 2 * self._every
            self._kept_bytes = sum(machine.nbytes for machine in self._kept)

    def state(self, index: int) -> State:
        """The state after ``index`` events."""
        if self._start is not self._log.start:  # tables were added to it
            self._begin()
        nearest = min(index // self._every, len(self._kept) - 1)
        if not nearest * self._every <= self._at <= index:
            self._machine, self._at = self._kept[nearest].copy(), nearest * self._every
        while self._at < index:
            self._machine.apply(self._log, self._at)
            self._at += 1
            if self._at == len(self._kept) * self._every:
                self._keep()
        return self._machine.state(self._log)
