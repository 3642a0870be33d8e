"""Finds the state of a log at any step by running forward from the nearest copy."""

import sys
from array import array

from pagesim.journal.state import State
from pagesim.timeline.log import Log
from pagesim.timeline.pages import Pages, Waiting

EVERY = 4096
"""Events between two copies: a copy takes about 50 kB for a pool of 4,096 blocks."""

MAX_KEPT = 64 * 2**20
"""Bytes that the copies of one run may take; beyond that every second copy is dropped."""


class Snapshot:
    """A copy of a state whose lists take four bytes per block instead of a dict's."""

    def __init__(self, state: Pages) -> None:
        self._state = state.copy({})
        self._lists = {
            name: (array("i", waiting), waiting.is_sorted) for name, waiting in state.lists.items()
        }
        ids = (ids for ids, _ in self._lists.values())
        self.nbytes = self._state.nbytes + sum(map(sys.getsizeof, ids))

    def state(self) -> Pages:
        """The state, free to be changed."""
        return self._state.copy({name: Waiting(*of) for name, of in self._lists.items()})


class Seeker:
    """The state of a log at any step, forwards and backwards."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._begin()

    def _begin(self) -> None:
        self._start = self._log.start
        self._every = EVERY
        self._here = Pages.from_start(self._log)
        self._at = 0
        self._kept = [Snapshot(self._here)]

    @property
    def nbytes(self) -> int:
        """Memory used by the copies in bytes."""
        return sum(kept.nbytes for kept in self._kept) + self._here.nbytes

    def _keep(self) -> None:
        """Keep a copy of the current state; if the copies grow too large, drop every second one."""
        self._kept.append(Snapshot(self._here))
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
            for _, _, _, *rows in self._log.between(self._at, stop):
                for row in rows:
                    self._here.apply(row)
            self._at = stop
            if stop == end:
                self._keep()
        return self._here.state(self._start)
