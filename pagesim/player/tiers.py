"""A second tier in a file: its chunks, and the copies under way between it and the GPU.

The player's ``js/jobs.js`` does the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name

STORE, LOAD = "store", "load"
HOLDING = "kv_holding_waiting"
"""The queue of requests that have blocks and wait: drawn between waiting and running."""


@dataclass(frozen=True)
class Job:
    """A copy under way: of ``pairs``, the first is the source, the second the target."""

    kind: str
    request: Name
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Tier:
    """The CPU pool as a second tier, and the copies under way."""

    blocks_per_chunk: int
    policy: str
    jobs: tuple[Job, ...]

    @property
    def pending(self) -> dict[int, Job]:
        """Block → the job that copies to it: nothing is there yet."""
        return {target: job for job in self.jobs for _, target in job.pairs}

    def load_of(self, request: Name) -> Job | None:
        """The load for which a request waits."""
        loads = (job for job in self.jobs if job.kind == LOAD and job.request == request)
        return next(loads, None)


def tier_in(header: JsonObject, state: JsonObject) -> Tier | None:
    """The second tier of a file; None where the CPU pool, if any, is swap space."""
    words = header.get("tier")
    if words is None:
        return None
    jobs = tuple(
        Job(kind, request, tuple((source, target) for source, target in pairs))
        for _, kind, request, pairs in state.get("jobs", ())
    )
    return Tier(words["blocks_per_chunk"], str(words.get("policy", "")), jobs)


def in_order(queues: Sequence[str]) -> list[str]:
    """The queues as a request passes through them."""
    first, others = list(queues[:1]), [name for name in queues[1:] if name != HOLDING]
    return first + [HOLDING] * (HOLDING in queues[1:]) + others
