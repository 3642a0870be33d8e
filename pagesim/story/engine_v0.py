"""The loop around V0's scheduler: each sequence of a step gets a token, and may be done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from pagesim.story.options import Options, roomy, shared_out
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import Logprob, Sequence, SequenceGroup, SequenceStatus


class V0Engine:
    """Release 0.6.4.post1. The clock counts steps."""

    def __init__(self, gpu_blocks: int, cpu_blocks: int, block_size: int, options: Options) -> None:
        limits, cache = shared_out(options, SchedulerConfig, CacheConfig)
        limits = roomy(limits, limits.get("enable_chunked_prefill", False))
        self._now, self._next_id, self._sampled = 0.0, 0, 1_000_000
        self._goals: dict[str, int] = {}
        self._preempted: Counter[str] = Counter()
        self._firsts: dict[str, Sequence] = {}
        self._named: dict[int, BlockTable] = {}
        self.scheduler = Scheduler(
            SchedulerConfig(**limits),
            CacheConfig(block_size, gpu_blocks, cpu_blocks, **cache),
            clock=lambda: self._now,
        )

    def add(self, name: str, tokens: list[int], max_tokens: int, options: Options) -> SequenceGroup:
        seq = Sequence(self._new_id(), tokens, self.scheduler.cache_config.block_size)
        given: Options = {"arrival_time": self._now}
        group = SequenceGroup(name, [seq], **given | options)
        self.scheduler.add_seq_group(group)
        self._goals[name], self._firsts[name] = max_tokens, seq
        return group

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def fork(self, group: SequenceGroup) -> None:
        parent = group.first_seq
        child = parent.fork(self._new_id())
        group.add(child)
        self.scheduler.fork_seq(parent, child)

    def step(self) -> dict[str, int]:
        self._now += 1
        before = [(its, _num_computed(its)) for its in self.scheduler.running]
        metadata, outputs, _ = self.scheduler.schedule()
        for group, computed in before:  # one that is preempted may return in the same step
            if group not in self.scheduler.running or _num_computed(group) < computed:
                self._preempted[group.request_id] += 1
        for scheduled, its in zip(outputs.scheduled_seq_groups, metadata, strict=True):
            for seq in scheduled.seq_group.get_seqs(SequenceStatus.RUNNING):
                seq.data.update_num_computed_tokens(scheduled.token_chunk_size)
                if its.do_sample:
                    self._sample(seq, self._goals[scheduled.seq_group.request_id])
        self.scheduler.free_finished_seq_groups()
        return {
            scheduled.seq_group.request_id: scheduled.token_chunk_size
            for scheduled in outputs.scheduled_seq_groups
        }

    def new_tables(self) -> Iterator[tuple[BlockTable, str]]:
        """The tables of first sequences that began since the last call, and their requests."""
        names = {seq.seq_id: name for name, seq in self._firsts.items()}
        for seq_id, table in self.scheduler.block_manager.block_tables.items():
            if seq_id in names and self._named.get(seq_id) is not table:
                self._named[seq_id] = table
                yield table, names[seq_id]

    def _sample(self, seq: Sequence, max_tokens: int) -> None:
        self._sampled += 1
        seq.append_token_id(self._sampled, {self._sampled: Logprob(0.0)})
        if seq.data.get_output_len() >= max_tokens:
            seq.status = SequenceStatus.FINISHED_LENGTH_CAPPED
            self.scheduler.free_seq(seq)

    def abort(self, name: str) -> None:
        self.scheduler.abort_seq_group(name)

    def waiting(self) -> list[str]:
        return _names(self.scheduler.waiting)

    def running(self) -> list[str]:
        return _names(self.scheduler.running)

    def swapped(self) -> list[str]:
        return _names(self.scheduler.swapped)

    def holding(self) -> list[str]:
        return []

    def free(self) -> int:
        return self.scheduler.block_manager.get_num_free_gpu_blocks()

    def preemptions(self, group: SequenceGroup) -> int:
        return self._preempted[group.request_id]

    def tables(self, group: SequenceGroup) -> list[list[int]]:
        tables = self.scheduler.block_manager.block_tables
        seq = group.first_seq
        return [list(tables[seq.seq_id].physical_block_ids)] if seq.seq_id in tables else []

    def status(self, group: SequenceGroup) -> str:
        return group.first_seq.status.name


def _names(queue: Collection[SequenceGroup]) -> list[str]:
    return [group.request_id for group in queue]


def _num_computed(group: SequenceGroup) -> int:
    return sum(seq.get_num_computed_tokens() for seq in group.seqs)
