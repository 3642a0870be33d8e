"""Schedulers with one fault each, for exercise 7.5, whose page says what the causes mean."""

from collections import deque

from pagesim.exercises.ch07.chosen_victims import ChosenVictims
from pagesim.exercises.ch07.serving import ServingScheduler
from pagesim.v0.block_manager import AllocStatus
from pagesim.v0.scheduler_outputs import (
    SchedulerPrefillOutputs,
    SchedulerRunningOutputs,
    SchedulingBudget,
)
from pagesim.v0.sequence import SequenceGroup


class _Back(ServingScheduler):
    def _put_preempted(self, running: SchedulerRunningOutputs) -> None:
        self.waiting.extend(running.preempted)


class _Overtake(ServingScheduler):
    def _schedule_prefills(self, budget: SchedulingBudget) -> SchedulerPrefillOutputs:
        later, fits = AllocStatus.LATER, self.block_manager.can_allocate
        self.waiting = deque(sorted(self.waiting, key=lambda group: fits(group) is later))
        return super()._schedule_prefills(budget)


class _Oldest(ChosenVictims):
    def _choose(self, groups: list[SequenceGroup]) -> int:
        return 0


CAUSES = ["back", "overtake", "oldest", "mixed", "early"]
Behind = dict[str, tuple[type[ServingScheduler], str]]
FAULTY: Behind = {"A": (_Back, "back"), "B": (_Overtake, "overtake"), "C": (_Oldest, "oldest")}
"""The class behind each letter, and its cause."""
