"""A story on V0: sequences in groups, whose status the caller sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pagesim.journal.effects import Name
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager
from pagesim.v0.scheduler_outputs import SequenceGroupMetadata
from pagesim.v0.sequence import Logprob, SequenceGroup, SequenceStatus
from pagesim.v0.sequence import Sequence as V0Sequence

if TYPE_CHECKING:
    from pagesim.cache.attention_metadata import AttentionMetadata

RUNNING, SWAPPED = SequenceStatus.RUNNING, SequenceStatus.SWAPPED
Pairs = list[tuple[int, int]]


class V0Pages:
    """The block manager of release 0.6.4.post1, and the groups of its sequences."""

    takes_text_ids, swaps = False, True

    def __init__(
        self,
        gpu_blocks: int,
        cpu_blocks: int,
        block_size: int,
        caching: bool,
        watermark: float,
        sliding_window: int | None,
    ) -> None:
        self.manager = SelfAttnBlockSpaceManager(
            block_size, gpu_blocks, cpu_blocks, watermark, sliding_window, enable_caching=caching
        )
        self._groups: dict[V0Sequence, SequenceGroup] = {}
        self._now = 0.0

    @property
    def tables(self) -> Mapping[int, BlockTable]:
        return self.manager.block_tables

    def arrive(self, seq_id: int, tokens: list[int], name: Name) -> V0Sequence:
        seq = V0Sequence(seq_id, tokens, self.manager.block_size)
        group = SequenceGroup(f"{name}", [seq])
        self.manager.allocate(group)
        seq.status = RUNNING
        self._groups[seq] = group
        return seq

    def write(self, seq: V0Sequence, tokens: list[int], lookahead: int) -> Pairs:
        length = seq.get_len()
        try:
            for token in tokens:
                seq.append_token_id(token, {token: Logprob(0.0)})
            return self.manager.append_slots(seq, lookahead)
        except BaseException:
            del seq.data.token_ids[length:]
            raise

    def leave(self, seq: V0Sequence) -> None:
        self.manager.free(seq)
        seq.status = SequenceStatus.FINISHED_STOPPED
        group = self._groups[seq]
        if len(group.seqs) > 1:
            group.remove(seq.seq_id)

    def fork(self, seq: V0Sequence, child_id: int) -> V0Sequence:
        child = seq.fork(child_id)
        self.manager.fork(seq, child)
        group = self._groups[child] = self._groups[seq]
        group.add(child)
        return child

    def swap_out(self, seq: V0Sequence) -> Pairs:
        return self._move(seq, self.manager.swap_out(self._groups[seq]), SWAPPED)

    def swap_in(self, seq: V0Sequence) -> Pairs:
        return self._move(seq, self.manager.swap_in(self._groups[seq]), RUNNING)

    def _move(self, seq: V0Sequence, pairs: Pairs, status: SequenceStatus) -> Pairs:
        for member in self._groups[seq].seqs:
            member.status = status
        return pairs

    def batch(self, seqs: Sequence[V0Sequence]) -> AttentionMetadata:
        from pagesim.cache import build_attention_metadata

        parts = [self._metadata(seq) for seq in seqs if self.num_uncomputed(seq)]
        parts.sort(key=lambda part: not part.is_prompt)
        batch = build_attention_metadata(parts, self.manager.block_size)
        self._now += 1.0
        for seq in seqs:
            seq.data.update_num_computed_tokens(self.num_uncomputed(seq))
            self.manager.access_all_blocks_in_seq(seq, self._now)
        for seq in seqs[:1]:  # one call marks the blocks of all
            self.manager.mark_blocks_as_computed(self._groups[seq], 1)
        return batch

    def _metadata(self, seq: V0Sequence) -> SequenceGroupMetadata:
        """Its part of the next step, as a scheduler would describe it."""
        uncomputed, manager = self.num_uncomputed(seq), self.manager
        is_prompt = uncomputed > 1 or not seq.get_num_computed_tokens()
        return SequenceGroupMetadata(
            request_id=self._groups[seq].request_id,
            is_prompt=is_prompt,
            seq_data={seq.seq_id: seq.data},
            sampling_params=None,
            block_tables={seq.seq_id: self.block_ids(seq)},
            do_sample=True,
            token_chunk_size=uncomputed,
            computed_block_nums=manager.get_common_computed_block_ids([seq]) if is_prompt else [],
        )

    def is_running(self, seq: V0Sequence) -> bool:
        return seq.status is RUNNING

    def token_ids(self, seq: V0Sequence) -> list[int]:
        return seq.get_token_ids()

    def block_ids(self, seq: V0Sequence) -> list[int]:
        return list(self.manager.block_tables[seq.seq_id].physical_block_ids)

    def block_ids_by_group(self, seq: V0Sequence) -> tuple[list[int], ...]:
        return (self.block_ids(seq),)

    def num_uncomputed(self, seq: V0Sequence) -> int:
        return seq.data.get_num_uncomputed_tokens()

    def num_cached(self, seq: V0Sequence) -> int:
        """The blocks that count as computed, but never the last of the table."""
        if not self.manager.enable_caching:
            return 0
        find = self.manager.block_allocator.get_computed_block_ids
        return len(find([], self.block_ids(seq), True)) * self.manager.block_size

    def group(self, seq: V0Sequence) -> SequenceGroup:
        return self._groups[seq]
