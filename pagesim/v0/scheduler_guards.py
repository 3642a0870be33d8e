"""Checks made before a scheduler step begins, so that a step that fails changes nothing.

vLLM makes none of these checks: a step that fails midway loses its groups.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from pagesim.checks import check_a, check_new_request
from pagesim.errors import UsageError
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.sequence import SequenceGroup, SequenceStage, SequenceStatus

PREFILL = SequenceStage.PREFILL
RUNNING, WAITING = SequenceStatus.RUNNING, SequenceStatus.WAITING


def check_chunk_size(scheduler: SchedulerConfig, cache: CacheConfig) -> None:
    """UsageError for a token budget that cuts a block where chunks must end at block boundaries."""
    budget, block_size = scheduler.max_num_batched_tokens, cache.block_size
    if scheduler.enable_chunked_prefill and cache.enable_prefix_caching and budget % block_size:
        raise UsageError(
            f"max_num_batched_tokens must be a multiple of block_size ({block_size}) for "
            f"chunked prefill with prefix caching, not {budget}"
        )


def check_new(seq_group: SequenceGroup) -> None:
    """UsageError unless a group has one waiting sequence with tokens; TypeError if not a group."""
    check_a("seq_group", seq_group, SequenceGroup)
    name, seq = f"group {seq_group.request_id!r}", seq_group.first_seq
    if len(seq_group.seqs) != 1:
        raise UsageError(
            f"{name} has {len(seq_group.seqs)} sequences: a request begins with one; "
            f"fork it after its prefill"
        )
    check_new_request(name, seq.status, WAITING, seq.get_len())


def check_waiting(seq_group: SequenceGroup) -> None:
    """UsageError for a group that priority swapped out: it waits, but cannot be admitted."""
    if seq_group.first_seq.status is not WAITING:
        raise UsageError(
            f"group {seq_group.request_id!r} is {seq_group.first_seq.status.name} in the waiting "
            f"queue: policy='priority' swapped it out, and its keys and values are lost. Abort "
            f"it, or set preemption_mode='recompute'"
        )


def check_running(
    running: Iterable[SequenceGroup], scheduler: SchedulerConfig, tables: Container[int]
) -> None:
    """UsageError for a group that no step could continue.

    ``tables`` has the ids of the sequences with blocks.
    """
    chunked, budget = scheduler.enable_chunked_prefill, scheduler.max_num_batched_tokens
    for seq_group in running:
        name, seqs = seq_group.request_id, seq_group.seqs
        if seqs[0].status is not RUNNING:
            raise UsageError(
                f"group {name!r} is {seqs[0].status.name} in the running queue: call "
                f"free_finished_seq_groups() after each step in which a group finishes"
            )
        if not chunked and seqs[0].data.stage is PREFILL:
            raise UsageError(
                f"the prompt of group {name!r} was scheduled but not computed: call "
                f"update_num_computed_tokens() after each step"
            )
        for seq in seqs:
            if seq.seq_id not in tables:
                raise UsageError(
                    f"sequence {seq.seq_id} of group {name!r} has no block table: it was freed. "
                    f"If it has finished, remove it with seq_group.remove({seq.seq_id})"
                )
        if len(seqs) > budget:
            raise UsageError(
                f"group {name!r} has {len(seqs)} sequences, which take one token each per step: "
                f"more than max_num_batched_tokens ({budget})"
            )
