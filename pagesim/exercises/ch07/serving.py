"""A scheduler serves a list of requests: what the exercises of chapter 7 measure.

A request is (prompt, output), in tokens. All wait from the beginning. Time is counted in steps.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import Logprob, SequenceGroup, SequenceStatus
from pagesim.v0.sequence import Sequence as TokenSequence

Request = tuple[int, int]
Batch = list[tuple[int, int]]
"""The requests that compute in a step, in their order: (number, tokens)."""


@dataclass(repr=False)
class Served:
    """What happened. ``steps`` is cut off at a limit; ``finished`` says whether all is done."""

    steps: int = 0
    computed: int = 0
    """Tokens computed, those computed again included."""
    wasted: int = 0
    """Tokens whose keys and values were thrown away."""
    idle: int = 0
    """Free blocks, added up over all steps."""
    ignored: int = 0
    """Requests that were given up."""
    preempted: dict[int, int] = field(default_factory=dict)
    """How often each request was preempted."""
    batches: list[Batch] = field(default_factory=list)
    """What each step computed."""
    finished: bool = False

    def __repr__(self) -> str:
        return (
            f"{self.steps:,} steps, {self.computed:,} tokens computed, {self.wasted:,} wasted, "
            f"{self.preemptions} preemptions, {self.idle:,} blocks idle, {self.ignored} ignored"
        )

    @property
    def preemptions(self) -> int:
        """How often a request lost its blocks."""
        return sum(self.preempted.values())


class ServingScheduler(Scheduler):
    """Has wide limits unless they are given, and counts what its preemptions throw away."""

    def __init__(
        self, num_gpu_blocks: int, block_size: int = 4, watermark: float = 0.0, **limits: Any
    ) -> None:
        wide = {"max_num_batched_tokens": 4096, "max_num_seqs": 256, "max_model_len": 4096}
        cache = CacheConfig(block_size, num_gpu_blocks, 0, watermark=watermark)
        super().__init__(SchedulerConfig(**(wide | limits)), cache)
        self.wasted, self.preempted = 0, Counter[int]()

    def _preempt_by_recompute(self, victim: SequenceGroup) -> None:
        self.wasted += victim.first_seq.data.num_computed_tokens
        self.preempted[victim.first_seq.seq_id] += 1
        super()._preempt_by_recompute(victim)


def add(scheduler: Scheduler, number: int, prompt: int, *, token: int = 1) -> None:
    """A request of one sequence waits: s0, s1, …"""
    seq = TokenSequence(number, [token] * prompt, scheduler.cache_config.block_size)
    scheduler.add_seq_group(SequenceGroup(str(number), [seq]))


def step(scheduler: Scheduler, answers: Sequence[int]) -> tuple[Batch, int]:
    """One step of the engine: what it computed, and how many requests were given up."""
    metadata, outputs, _ = scheduler.schedule()
    for scheduled, meta in zip(outputs.scheduled_seq_groups, metadata, strict=True):
        seq = scheduled.seq_group.first_seq
        seq.data.update_num_computed_tokens(meta.token_chunk_size)
        if meta.do_sample:
            seq.append_token_id(1, {1: Logprob(0.0)})
        if seq.get_output_len() >= answers[seq.seq_id]:
            seq.status = SequenceStatus.FINISHED_STOPPED
    scheduler.free_finished_seq_groups()
    computed = [(int(meta.request_id), meta.token_chunk_size) for meta in metadata]
    return computed, len(outputs.ignored_seq_groups)


def serve(scheduler: ServingScheduler, requests: Sequence[Request], most: int = 20_000) -> Served:
    """Serve them all, or stop after ``most`` steps."""
    served = Served()
    answers = [answer for _, answer in requests]
    for number, (prompt, _) in enumerate(requests):
        add(scheduler, number, prompt)
    while scheduler.has_unfinished_seqs() and served.steps < most:
        batch, ignored = step(scheduler, answers)
        served.steps += 1
        served.ignored += ignored
        served.idle += scheduler.block_manager.get_num_free_gpu_blocks()
        served.computed += sum(tokens for _, tokens in batch)
        served.batches.append(batch)
    served.finished = not scheduler.has_unfinished_seqs()
    served.wasted, served.preempted = scheduler.wasted, scheduler.preempted
    return served


def recorded(
    scheduler: ServingScheduler, requests: Sequence[Request], title: str = "", most: int = 60
) -> Timeline:
    """The run of so many steps, if they take so many."""
    with record(scheduler) as run:
        serve(scheduler, requests, most)
    return run.annotate(title=title) if title else run
