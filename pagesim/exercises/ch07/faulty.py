"""Schedulers with one fault each, for exercise 7.5."""

from __future__ import annotations

from collections import deque

from pagesim.exercises.ch07.chosen_victims import ChosenVictims
from pagesim.v0.block_manager import AllocStatus
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.scheduler_outputs import (
    SchedulerPrefillOutputs,
    SchedulerRunningOutputs,
    SchedulingBudget,
)
from pagesim.v0.sequence import SequenceGroup

CAUSES = {
    "back": "A preempted request goes to the end of waiting, not to its front.",
    "overtake": "A prompt that fits is admitted although the one before it does not fit.",
    "oldest": "The oldest of the running requests is preempted, not the last.",
    "mixed": "A step computes prompts and decodes together.",
    "early": "A running sequence is preempted although a block is free.",
}


class _Back(Scheduler):
    def _put_preempted(self, running: SchedulerRunningOutputs) -> None:
        self.waiting.extend(running.preempted)


class _Overtake(Scheduler):
    def _schedule_prefills(self, budget: SchedulingBudget) -> SchedulerPrefillOutputs:
        later, fits = AllocStatus.LATER, self.block_manager.can_allocate
        self.waiting = deque(sorted(self.waiting, key=lambda group: fits(group) is later))
        return super()._schedule_prefills(budget)


class _Oldest(ChosenVictims):
    def _choose(self, groups: list[SequenceGroup]) -> int:
        return 0


Behind = dict[str, tuple[type[Scheduler], str]]
FAULTY: Behind = {"A": (_Back, "back"), "B": (_Overtake, "overtake"), "C": (_Oldest, "oldest")}
"""The class behind each letter, and its cause."""
