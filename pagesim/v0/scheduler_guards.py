"""What a step of the scheduler asks before it begins, so that it can fail without a trace.

vLLM asks none of this: a step that fails half way loses its groups.
"""

from __future__ import annotations

from collections.abc import Iterable

from pagesim.errors import UsageError
from pagesim.v0.block.common import cdiv
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.sequence import SequenceGroup, SequenceStage, SequenceStatus


def check_chunk_size(scheduler: SchedulerConfig, cache: CacheConfig) -> None:
    """UsageError for a token budget that cuts a block, where chunks must end at a block's end."""
    budget, block_size = scheduler.max_num_batched_tokens, cache.block_size
    if scheduler.enable_chunked_prefill and cache.enable_prefix_caching and budget % block_size:
        raise UsageError(
            f"max_num_batched_tokens must be a multiple of block_size ({block_size}) for "
            f"chunked prefill with prefix caching, not {budget}"
        )


def check_running(running: Iterable[SequenceGroup], *, chunked: bool) -> bool:
    """UsageError if the caller left a step half done; returns whether a group was forked."""
    forked = False
    for seq_group in running:
        seqs = seq_group.seqs
        if seqs[0].status is not SequenceStatus.RUNNING:
            raise UsageError(
                f"group {seq_group.request_id!r} is {seqs[0].status.name} among the running: "
                f"call free_finished_seq_groups() after a step in which one finishes"
            )
        if seqs[0].data.stage is SequenceStage.PREFILL and not chunked:
            raise UsageError(
                f"the prompt of group {seq_group.request_id!r} was scheduled and not computed: "
                f"call update_num_computed_tokens() after each step"
            )
        if len(seqs) > 1:
            forked = True
    return forked


def is_tight(
    manager: SelfAttnBlockSpaceManager, running: Iterable[SequenceGroup], num_lookahead_slots: int
) -> bool:
    """Whether some running group may not find room in this step: False is sure, True a guess."""
    if manager.sliding_window is not None:
        return True
    block_size, tables = manager.block_size, manager.block_tables
    free, most_touched = manager.get_num_free_gpu_blocks(), 0
    for seq_group in running:
        touched = 0
        for seq in seq_group.seqs:
            if (table := tables.get(seq.seq_id)) is None:
                return True
            num_slots = len(seq.data.token_ids) + num_lookahead_slots
            touched += table.num_blocks_touched_by_growing_to(num_slots)
            needed = cdiv(num_slots, block_size) - len(table.physical_block_ids)
            if needed > 0:
                free -= needed
        free -= len(seq_group.seqs) - 1  # a shared block may have to be copied
        most_touched = max(most_touched, touched)
    return free < most_touched
