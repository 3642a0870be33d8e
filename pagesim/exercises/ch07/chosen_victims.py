"""A scheduler whose victims are chosen by a function: vLLM's takes the last of ``running``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import SequenceGroup

Candidate = tuple[int, int, int]
"""A running request: its tokens, its blocks, and how often it was preempted before."""
Pick = Callable[[list[Candidate]], int]


class VictimQueue(deque[SequenceGroup]):
    """A queue from whose end the scheduler pops a victim: here it gets the one that is picked."""

    def __init__(
        self, groups: Iterable[SequenceGroup], pick: Callable[[list[SequenceGroup]], int]
    ) -> None:
        super().__init__(groups)
        self._pick = pick

    def pop(self) -> SequenceGroup:  # type: ignore[override]
        place = self._pick(list(self))
        victim = self[place]
        del self[place]
        return victim

    def __copy__(self) -> VictimQueue:
        return VictimQueue(self, self._pick)


class ChosenVictims(Scheduler):
    """Preempts the candidate that ``pick`` names by its place; the oldest stands first."""

    pick: Pick

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.times_preempted: dict[int, int] = {}
        super().__init__(*args, **kwargs)

    @property
    def running(self) -> VictimQueue:
        return self._running

    @running.setter
    def running(self, groups: Iterable[SequenceGroup]) -> None:
        self._running = VictimQueue(groups, self._choose)

    def _choose(self, groups: list[SequenceGroup]) -> int:
        return self.pick([self._candidate(group) for group in groups])

    def _candidate(self, group: SequenceGroup) -> Candidate:
        seq = group.first_seq
        table = self.block_manager.block_tables[seq.seq_id]
        times = self.times_preempted.get(seq.seq_id, 0)
        return seq.get_len(), len(table.physical_block_ids), times

    def _preempt_by_recompute(self, victim: SequenceGroup) -> None:
        number = victim.first_seq.seq_id
        self.times_preempted[number] = self.times_preempted.get(number, 0) + 1
        super()._preempt_by_recompute(victim)
