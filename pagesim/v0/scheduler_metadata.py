"""How a step is reported: to workers as metadata, to a recording as rows.

Source: the end of ``Scheduler.schedule()`` in vLLM 0.6.4.post1's ``vllm/core/scheduler.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pagesim.journal.effects import QUEUE, SCHEDULED, Row
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager
from pagesim.v0.scheduler_outputs import SchedulerOutputs, SequenceGroupMetadata
from pagesim.v0.sequence import SequenceGroup, SequenceStage


def metadata_of(
    outputs: SchedulerOutputs, manager: SelfAttnBlockSpaceManager, now: float
) -> list[SequenceGroupMetadata]:
    """What workers are told about each scheduled group; with caching, marks its blocks as used."""
    metadata: list[SequenceGroupMetadata] = []
    caching, tables, computed = manager.enable_caching, manager.block_tables, []
    for scheduled in outputs.scheduled_seq_groups:
        seq_group, chunk = scheduled.seq_group, scheduled.token_chunk_size
        seqs, data = seq_group.seqs, seq_group.seqs[0].data
        if caching:
            for seq in seqs:
                manager.access_all_blocks_in_seq(seq, now)
            computed = manager.get_common_computed_block_ids(seqs)
        seq_data, block_tables = {}, {}
        for seq in seqs:
            seq_data[seq.seq_id] = seq.data
            block_tables[seq.seq_id] = tables[seq.seq_id].physical_block_ids.copy()
        is_prompt = data.stage is SequenceStage.PREFILL
        metadata.append(
            SequenceGroupMetadata(
                seq_group.request_id,
                is_prompt,
                seq_data,
                seq_group.sampling_params,
                block_tables,
                not is_prompt or chunk + data.num_computed_tokens >= len(data.token_ids),
                chunk,
                computed.copy(),
            )
        )
    if caching:
        for scheduled in outputs.scheduled_seq_groups:
            manager.mark_blocks_as_computed(scheduled.seq_group, scheduled.token_chunk_size)
    return metadata


def who(seq_group: SequenceGroup) -> tuple[str, int]:
    """A request's name in a recording: its id, and that of its first sequence."""
    return seq_group.request_id, seq_group.seqs[0].seq_id


def rows_of_step(
    outputs: SchedulerOutputs, queues: Mapping[str, Iterable[SequenceGroup]]
) -> Iterator[Row]:
    """Which groups compute, and the present order of the queues, for a recording."""
    for scheduled in outputs.scheduled_seq_groups:
        seq_group, is_prompt = scheduled.seq_group, scheduled.seq_group.is_prefill()
        tokens = scheduled.token_chunk_size if is_prompt else len(seq_group.seqs)
        yield (SCHEDULED, *who(seq_group), tokens, is_prompt)
    for queue, seq_groups in queues.items():
        yield (QUEUE, queue, [who(seq_group) for seq_group in seq_groups])
