"""A scheduler whose victims are chosen by a function: vLLM's takes the last of ``running``."""

from collections import deque
from collections.abc import Callable

from pagesim.exercises.ch07.serving import ServingScheduler
from pagesim.v0.scheduler_outputs import SchedulerRunningOutputs, SchedulingBudget
from pagesim.v0.sequence import SequenceGroup

Candidate = tuple[int, int, int]
"""A running request: its tokens, its blocks, and how often it was preempted before."""
Pick = Callable[[list[Candidate]], int]


class VictimQueue(deque[SequenceGroup]):
    """A queue from whose end the scheduler pops a victim: here it gets the one that is picked."""

    choose: Callable[[list[SequenceGroup]], int]

    def pop(self) -> SequenceGroup:  # type: ignore[override]
        place = self.choose(list(self))
        victim = self[place]
        del self[place]
        return victim


class ChosenVictims(ServingScheduler):
    """Preempts the candidate that ``pick`` names by its place; the oldest stands first."""

    pick: Pick

    def _schedule_running(self, budget: SchedulingBudget) -> SchedulerRunningOutputs:
        self.running = VictimQueue(self.running)
        self.running.choose = self._choose
        return super()._schedule_running(budget)

    def _choose(self, groups: list[SequenceGroup]) -> int:
        return self.pick([self._candidate(group) for group in groups])

    def _candidate(self, group: SequenceGroup) -> Candidate:
        seq = group.first_seq
        table = self.block_manager.block_tables[seq.seq_id]
        return seq.get_len(), len(table.physical_block_ids), self.preempted[seq.seq_id]
