"""The paged policy: the real scheduler and block manager, every token stepped.

This is what vLLM's engine does around its scheduler: queue what arrives, schedule, append the
tokens that a model would have sampled, free what is finished.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.simulation.paged_requests import RequestTag, can_ever_serve, prompt_of
from pagesim.simulation.serving import Step
from pagesim.timeline import Timeline
from pagesim.timeline import record as recorded
from pagesim.v0.block.common import cdiv
from pagesim.v0.block_manager import AllocStatus
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.scheduler_outputs import SchedulerOutputs, SequenceGroupMetadata
from pagesim.v0.sequence import Sequence, SequenceGroup, SequenceStatus
from pagesim.workload.request import Request

FINISHED = SequenceStatus.FINISHED_LENGTH_CAPPED


class PagedServer:
    """`pagesim.Scheduler` with its block manager; see :class:`pagesim.simulation.Server`.

    ``samples`` of each request run in one group and share what the prompt fills, as vLLM's groups
    did before 0.6.4; such a group can be preempted only by swapping.

    Cached blocks that no sequence uses count as free: they are evicted when blocks are needed.
    The blocks of the watermark are external while a request waits for them. ``record`` asks for a
    timeline.

    As in vLLM, a request that was swapped out during a chunked prefill never returns if the rest of
    its prompt exceeds the budget: in the end it is neither finished nor ignored.
    """

    def __init__(
        self,
        scheduler_config: SchedulerConfig,
        cache_config: CacheConfig,
        record: bool = False,
        samples: int = 1,
    ) -> None:
        self._samples = check_int("samples", samples, 1)
        if samples > 1 and scheduler_config.preemption_mode != "swap":
            raise UsageError(
                f"{samples} samples that share blocks cannot be recomputed: preemption_mode must "
                f"be 'swap' (and num_cpu_blocks above 0), not {scheduler_config.preemption_mode!r}"
            )
        self.scheduler = Scheduler(scheduler_config, cache_config, clock=lambda: self._clock)
        self.pool = cache_config.num_gpu_blocks * cache_config.block_size
        self._recorder = recorded(self.scheduler) if record else None
        self._timeline = None if self._recorder is None else self._recorder.__enter__()
        self._clock = 0.0
        self._arrived: deque[tuple[int, Request]] = deque()
        """Requests that have arrived and are not yet in the scheduler's queue."""
        self._now: tuple[list[SequenceGroupMetadata], SchedulerOutputs]
        caching, window = cache_config.enable_prefix_caching, cache_config.sliding_window
        self._shares = samples > 1 or caching or window is not None
        """Whether a block may be in more than one table."""
        self._cached: dict[int, int] = {}
        """By row: how many tokens of a chunked prompt are cached."""

    @property
    def blocked(self) -> bool:
        """See :class:`pagesim.simulation.Server`: no request passes the head of the queue."""
        return bool(self.scheduler.waiting)

    def add(self, row: int, request: Request) -> bool:
        """See :meth:`pagesim.simulation.Server.add`."""
        config, cache = self.scheduler.scheduler_config, self.scheduler.cache_config
        can_be = can_ever_serve(request, config, cache, self._samples)
        if can_be:
            self._arrived.append((row, request))
        return can_be

    def schedule(self, clock: float) -> Step | None:
        """See :meth:`pagesim.simulation.Server.schedule`."""
        scheduler, self._clock = self.scheduler, clock
        self._queue()
        if not scheduler.has_unfinished_seqs():
            return None
        metadata, out, _ = scheduler.schedule()
        self._now = metadata, out
        preempted = [group.sampling_params.row for group in self._preempted(out)]
        ignored = [group.sampling_params.row for group in out.ignored_seq_groups]
        if out.is_empty():
            return Step(preempted=preempted, ignored=ignored) if preempted or ignored else None
        prefills = islice(out.scheduled_seq_groups, out.num_prefill_groups)
        return Step(
            len(scheduler.running),
            self._usage(metadata),
            *self._costs(metadata, out),
            [scheduled.seq_group.sampling_params.row for scheduled in prefills],
            preempted,
            ignored,
        )

    def commit(self, tokens: Mapping[int, int] | None = None) -> tuple[list[int], list[int]]:
        """See :meth:`pagesim.simulation.Server.commit`."""
        metadata, out = self._now
        answered, finished = [], []
        for scheduled, meta in zip(out.scheduled_seq_groups, metadata, strict=True):
            group = scheduled.seq_group
            tag, data = group.sampling_params, group.seqs[0].data
            data.update_num_computed_tokens(scheduled.token_chunk_size)
            if not meta.do_sample:
                continue
            seqs = group.seqs
            if meta.is_prompt:
                answered.append(tag.row)
                self._fork(group)
            elif len(seqs) > 1:
                for seq in seqs[1:]:
                    seq.data.update_num_computed_tokens(1)
            for seq in seqs:
                token = self._token(seq, tag) if tokens is None else tokens[seq.seq_id]
                seq.data.token_ids.append(token)
            if len(data.token_ids) == tag.goal:
                for seq in seqs:
                    seq.status = FINISHED
                    self.scheduler.free_seq(seq)
                finished.append(tag.row)
        if finished:
            self.scheduler.free_finished_seq_groups()
            self.scheduler.get_and_reset_finished_requests_ids()
        return answered, finished

    def tables(self) -> dict[int, list[int]]:
        """See :meth:`pagesim.simulation.Server.tables`; with one sample an id is a row."""
        tables = self.scheduler.block_manager.block_tables
        return {row: table.physical_block_ids.copy() for row, table in tables.items()}

    def finish(self) -> Timeline | None:
        """See :meth:`pagesim.simulation.Server.finish`."""
        if self._recorder is not None:
            self._recorder.__exit__(None, None, None)
        return self._timeline

    # -- an iteration ----------------------------------------------------------------------------

    def _queue(self) -> None:
        """Move requests that have arrived to the scheduler's queue.

        A step admits ``max_num_seqs`` at most and does not look past the head of the queue, so no
        more of them, with all their tokens, need to be there. A timeline shows all of them.
        """
        scheduler = self.scheduler
        config, block_size = scheduler.scheduler_config, scheduler.cache_config.block_size
        while self._arrived and (
            self._recorder is not None or len(scheduler.waiting) <= config.max_num_seqs
        ):
            row, request = self._arrived.popleft()
            seq = Sequence(row * self._samples, prompt_of(request, row), block_size)
            tag = RequestTag(row, request.total_tokens, -1 - row)
            scheduler.add_seq_group(
                SequenceGroup(request.request_id, [seq], request.arrival_s, tag)
            )

    def _fork(self, group: SequenceGroup) -> None:
        """Fork the samples of a request whose prompt is computed: from here on they differ."""
        parent = group.first_seq
        for i in range(1, self._samples):
            child = parent.fork(parent.seq_id + i)
            group.add(child)
            self.scheduler.fork_seq(parent, child)

    def _token(self, seq: Sequence, tag: RequestTag) -> int:
        """The next token of a sequence: samples never produce equal tokens."""
        sample = seq.seq_id % self._samples
        return tag.token * self._samples - sample if sample else tag.token

    def _preempted(self, out: SchedulerOutputs) -> Iterable[SequenceGroup]:
        if not out.preempted:
            return ()
        if out.blocks_to_swap_out:
            swapped = self.scheduler.swapped
            return islice(swapped, len(swapped) - out.preempted, None)
        return islice(self.scheduler.waiting, out.preempted)

    # -- where the slots are, and what a step costs ----------------------------------------------

    def _usage(self, metadata: list[SequenceGroupMetadata]) -> tuple[int, int, int, int]:
        """The token, reserved, internal and external slots while this step runs."""
        manager = self.scheduler.block_manager
        block_size, free = manager.block_size, manager.get_num_free_gpu_blocks()
        used = (manager.num_total_gpu_blocks - free) * block_size
        reserved, internal = self._later_chunks(metadata), self._empty_slots(used)
        external = free * block_size if self._head_waits() else 0
        return used - reserved - internal, reserved, internal, external

    def _later_chunks(self, metadata: list[SequenceGroupMetadata]) -> int:
        """Slots that later chunks of prompts fill, unless another sequence has filled them."""
        config, cache = self.scheduler.scheduler_config, self.scheduler.cache_config
        if not config.enable_chunked_prefill:
            return 0
        block_size, tables = cache.block_size, self.scheduler.block_manager.block_tables
        for meta in metadata:
            if meta.is_prompt:
                tag, (data,) = meta.sampling_params, meta.seq_data.values()
                found = len(meta.computed_block_nums) * block_size
                self._cached[tag.row] = max(found, data.num_computed_tokens + meta.token_chunk_size)
        left: dict[int, int] = {}
        complete: list[list[int]] = []
        for group in self.scheduler.running:
            table = tables[group.first_seq.seq_id]
            ids, end = table.physical_block_ids, table.num_full_slots
            cached = self._cached[group.sampling_params.row] if group.is_prefill() else end
            for index in range(cached // block_size, cdiv(end, block_size)):
                start = index * block_size
                missing = min(start + block_size, end) - max(start, cached)
                left[ids[index]] = missing  # a shared block is missing as a whole
            complete.append(ids[: cached // block_size])
        if cache.enable_prefix_caching:
            for ids in complete:
                for block_id in left.keys() & ids:
                    del left[block_id]
        return sum(left.values())

    def _empty_slots(self, used: int) -> int:
        """Slots without a token: in last blocks, which may be shared, and in the null block."""
        manager, empty = self.scheduler.block_manager, {}
        block_size, tables = manager.block_size, manager.block_tables
        if not self._shares:
            running = self.scheduler.running
            return used - sum([tables[g.seqs[0].seq_id].num_full_slots for g in running])
        if (null_block_id := manager.block_allocator.null_block_id) is not None:
            empty[null_block_id] = block_size
        for group in self.scheduler.running:
            for seq in group.seqs:
                table = tables[seq.seq_id]
                ids = table.physical_block_ids
                empty[ids[-1]] = len(ids) * block_size - table.num_full_slots
        return sum(empty.values())

    def _head_waits(self) -> bool:
        """Whether a request waits for lack of blocks rather than seats."""
        scheduler = self.scheduler
        if len(scheduler.running) >= scheduler.scheduler_config.max_num_seqs:
            return False
        if scheduler.swapped:
            status = scheduler.block_manager.can_swap_in(scheduler.swapped[0], 0)
        elif scheduler.waiting:
            status = scheduler.block_manager.can_allocate(scheduler.waiting[0])
        else:
            return False
        return status is not AllocStatus.OK

    def _costs(
        self, metadata: list[SequenceGroupMetadata], out: SchedulerOutputs
    ) -> tuple[int, int, int, int]:
        """Prompt tokens and decodes that the step computes, tokens it reads, slots it moves.

        Of a chunk, only tokens that are neither computed nor in the prefix cache are computed; if
        none are left, its last token, as in vLLM.
        """
        cache = self.scheduler.cache_config
        window = cache.sliding_window or sys.maxsize
        prompts = decodes = read = 0
        for meta in metadata:
            for data in meta.seq_data.values():
                end = data.num_computed_tokens + meta.token_chunk_size
                if meta.is_prompt:
                    found = len(meta.computed_block_nums) * cache.block_size
                    start = min(max(data.num_computed_tokens, found), end - 1)
                    prompts += end - start
                    read += min(start, window - 1)
                else:
                    decodes += 1
                    read += end if end < window else window
        moved = len(out.blocks_to_swap_in) + len(out.blocks_to_swap_out)
        return prompts, decodes, read, moved * cache.block_size
