"""Departures from first come, first served: the urgency of groups, and the delay of prompts.

Source: vLLM 0.6.4.post1, ``vllm/core/scheduler.py`` (``_get_priority``, ``_passed_delay``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from pagesim.v0.sequence import SequenceGroup


def urgency(seq_group: SequenceGroup) -> tuple[int, float]:
    """Priority, then arrival; smaller is more urgent."""
    return seq_group.priority, seq_group.arrival_time


def by_urgency(seq_groups: Iterable[SequenceGroup]) -> deque[SequenceGroup]:
    """The most urgent first; equally urgent groups keep their order."""
    return deque(sorted(seq_groups, key=urgency))


@dataclass(slots=True)
class PromptDelay:
    """Holds prompts back so that more of them share a step: ``factor`` times as long as the last.

    The latency of a step that admitted prompts is the time until the next step begins.
    """

    factor: float
    prev_time: float = 0.0
    prev_prompt: bool = False
    last_prompt_latency: float = 0.0

    def passed(
        self, now: float, waiting: deque[SequenceGroup], running: deque[SequenceGroup]
    ) -> bool:
        """Whether the oldest waiting group has waited long enough, or nothing is running."""
        if self.prev_prompt:
            self.last_prompt_latency = now - self.prev_time
        self.prev_time, self.prev_prompt = now, False
        if self.factor <= 0 or not (waiting and running):
            return True
        oldest = min(seq_group.arrival_time for seq_group in waiting)
        return now - oldest > self.factor * self.last_prompt_latency
