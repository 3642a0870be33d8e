"""What one `Scheduler.schedule()` decided, for the engine that carries it out.

Source: vLLM 0.6.4.post1, ``vllm/core/scheduler.py`` and ``SequenceGroupMetadata`` in
``vllm/sequence.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pagesim.v0.config import SchedulerConfig
from pagesim.v0.sequence import SequenceData, SequenceGroup


@dataclass(slots=True)
class SchedulingBudget:
    """The budget of a step: tokens that may be computed, and groups that may take part."""

    token_budget: int
    max_num_seqs: int
    num_batched_tokens: int = 0
    num_curr_seqs: int = 0

    @classmethod
    def of(cls, config: SchedulerConfig) -> SchedulingBudget:
        """The whole budget of a step."""
        return cls(config.max_num_batched_tokens, config.max_num_seqs)

    def can_schedule(self, num_new_tokens: int, num_new_seqs: int) -> bool:
        """Whether this much more is within the budget."""
        return (
            self.num_batched_tokens + num_new_tokens <= self.token_budget
            and self.num_curr_seqs + num_new_seqs <= self.max_num_seqs
        )

    def remaining_token_budget(self) -> int:
        """Tokens that may still be computed."""
        return self.token_budget - self.num_batched_tokens

    def add(self, num_new_tokens: int, num_new_seqs: int) -> None:
        """Charge a group."""
        self.num_batched_tokens += num_new_tokens
        self.num_curr_seqs += num_new_seqs


@dataclass(slots=True)
class ScheduledSequenceGroup:
    """A group that takes part in the step, with ``token_chunk_size`` tokens of each sequence."""

    seq_group: SequenceGroup
    token_chunk_size: int


@dataclass(slots=True)
class SchedulerRunningOutputs:
    """What became of the running groups: the ones that compute, and the ones that made room."""

    decode_seq_groups: list[ScheduledSequenceGroup] = field(default_factory=list)
    prefill_seq_groups: list[ScheduledSequenceGroup] = field(default_factory=list)
    preempted: list[SequenceGroup] = field(default_factory=list)
    swapped_out: list[SequenceGroup] = field(default_factory=list)
    blocks_to_swap_out: list[tuple[int, int]] = field(default_factory=list)
    blocks_to_copy: list[tuple[int, int]] = field(default_factory=list)
    num_lookahead_slots: int = 0

    @property
    def num_preempted(self) -> int:
        """Groups that lost their GPU blocks in either way."""
        return len(self.preempted) + len(self.swapped_out)


@dataclass(slots=True)
class SchedulerSwappedInOutputs:
    """The groups that came back from the CPU, and those that can never come back."""

    decode_seq_groups: list[ScheduledSequenceGroup] = field(default_factory=list)
    prefill_seq_groups: list[ScheduledSequenceGroup] = field(default_factory=list)
    blocks_to_swap_in: list[tuple[int, int]] = field(default_factory=list)
    blocks_to_copy: list[tuple[int, int]] = field(default_factory=list)
    infeasible_seq_groups: list[SequenceGroup] = field(default_factory=list)


@dataclass(slots=True)
class SchedulerPrefillOutputs:
    """The groups that were admitted, and those that can never be."""

    seq_groups: list[ScheduledSequenceGroup] = field(default_factory=list)
    ignored_seq_groups: list[SequenceGroup] = field(default_factory=list)


@dataclass(slots=True)
class SequenceGroupMetadata:
    """What a worker is told about one group: its tokens, and where their keys and values are.

    ``block_tables`` and ``computed_block_nums`` are copies, which later changes do not affect.
    ``do_sample`` is False for a chunk that does not reach the end of its prompt;
    ``computed_block_nums`` are the leading blocks that prefix caching found computed.
    """

    request_id: str
    is_prompt: bool
    seq_data: dict[int, SequenceData]
    sampling_params: Any
    block_tables: dict[int, list[int]]
    do_sample: bool
    token_chunk_size: int
    computed_block_nums: list[int]


@dataclass(slots=True)
class SchedulerOutputs:
    """One step: the groups that take part, prefills first, and which blocks move before it runs.

    ``blocks_to_swap_in`` holds (CPU, GPU) and ``blocks_to_swap_out`` (GPU, CPU) pairs of indices
    into the caches; ``blocks_to_copy`` (from, to) pairs of GPU block ids, to be done in order.

    ``blocks_lost`` holds (GPU, CPU) pairs like ``blocks_to_swap_out``, of groups that priority
    swapped out. vLLM forgets to report them: nothing moves, and their keys and values are gone.
    ``preempted`` does not count these groups.
    """

    scheduled_seq_groups: list[ScheduledSequenceGroup]
    num_prefill_groups: int
    num_batched_tokens: int
    blocks_to_swap_in: list[tuple[int, int]]
    blocks_to_swap_out: list[tuple[int, int]]
    blocks_to_copy: list[tuple[int, int]]
    ignored_seq_groups: list[SequenceGroup]
    num_lookahead_slots: int
    running_queue_size: int
    preempted: int
    blocks_lost: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        scheduled: list[ScheduledSequenceGroup],
        budget: SchedulingBudget,
        prefills: SchedulerPrefillOutputs,
        running: SchedulerRunningOutputs,
        swapped_in: SchedulerSwappedInOutputs,
        running_queue_size: int,
        blocks_lost: Iterable[tuple[int, int]] = (),
    ) -> SchedulerOutputs:
        """Combine the parts of a step; ``scheduled`` has their groups in order."""
        return cls(
            scheduled_seq_groups=scheduled,
            num_prefill_groups=len(prefills.seq_groups)
            + len(running.prefill_seq_groups)
            + len(swapped_in.prefill_seq_groups),
            num_batched_tokens=budget.num_batched_tokens,
            blocks_to_swap_in=swapped_in.blocks_to_swap_in,
            blocks_to_swap_out=running.blocks_to_swap_out,
            blocks_to_copy=running.blocks_to_copy + swapped_in.blocks_to_copy,
            ignored_seq_groups=prefills.ignored_seq_groups + swapped_in.infeasible_seq_groups,
            num_lookahead_slots=running.num_lookahead_slots,
            running_queue_size=running_queue_size,
            preempted=running.num_preempted,
            blocks_lost=list(blocks_lost),
        )

    def is_empty(self) -> bool:
        """Whether there is nothing to compute, to move or to lose. Ignored groups do not count."""
        return not (
            self.scheduled_seq_groups
            or self.blocks_to_swap_in
            or self.blocks_to_swap_out
            or self.blocks_to_copy
            or self.blocks_lost
        )
