"""The paged policy: the real scheduler and block manager, every token stepped.

What vLLM's engine does around its scheduler is here a loop: queue the arrivals, schedule, append
the tokens that a model would have sampled, free what is finished. One sequence a request.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Rows
from contextlib import ExitStack
from itertools import islice

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.simulation.cost_model import CostModel
from pagesim.simulation.engine import Told, untold
from pagesim.simulation.outcomes import Outcomes
from pagesim.simulation.paged_requests import Place, can_ever_serve, prompt_of
from pagesim.simulation.stepwise import StepwiseEngine
from pagesim.simulation.waste import WasteLog
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


class PagedEngine(StepwiseEngine):
    """Runs a workload through `pagesim.Scheduler`; see :class:`pagesim.simulation.Engine`.

    ``samples`` of each request run in one group and share what the prompt fills, as vLLM's groups
    did before 0.6.4; such a group can be preempted by swapping only.

    Cached blocks that no sequence uses count as free: they are evicted when blocks are needed.
    The blocks of the watermark are external while a request waits for them. ``timeline`` is what
    happened to the pages, if ``record`` asks for it.

    As in vLLM a request that was swapped out half way in a chunked prefill never comes back if what
    is left of its prompt exceeds the budget: it is then neither finished nor ignored in the end.
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
        self.timeline: Timeline | None = None
        self._recording = record
        self._clock = 0.0
        self._next_row = 0
        self._cached: dict[int, int] = {}
        """By row: how far a prompt that is computed in chunks is in the cache."""

    def steps(
        self,
        requests: Rows[Request],
        log: WasteLog,
        outcomes: Outcomes,
        cost_model: CostModel,
        progress: Told = untold,
    ) -> Iterator[None]:
        """See :meth:`StepwiseEngine.steps`; what happens to the pages is in ``timeline``."""
        with ExitStack() as stack:
            if self._recording:
                self.timeline = stack.enter_context(recorded(self.scheduler))
            done = told = 0
            while True:
                done += self._arrive(requests, outcomes)
                idle = not self.scheduler.has_unfinished_seqs()
                if not idle:
                    metadata, out, _ = self.scheduler.schedule()
                    done += self._note(out, outcomes)
                    idle = out.is_empty() and not (out.preempted or out.ignored_seq_groups)
                if idle and (self._next_row == len(requests) or self.scheduler.waiting):
                    if done != told:
                        progress(done)
                    return  # none arrives, or they would wait behind a head that never goes
                if idle:  # what is left is on the CPU, and can never go on
                    self._clock = requests[self._next_row].arrival_s
                    log.add(self._clock, 0, 0, 0, self._homeless(log), 0)
                elif not out.is_empty():
                    self._compute(metadata, out, log, outcomes, cost_model)
                    done += self._sample(metadata, out, outcomes)
                if done != told:
                    progress(done)
                    told = done
                if not (idle or out.is_empty()):
                    yield

    def tables(self) -> dict[int, list[int]]:
        """See :meth:`StepwiseEngine.tables`; with one sample a sequence's id is its row."""
        tables = self.scheduler.block_manager.block_tables
        return {row: table.physical_block_ids.copy() for row, table in tables.items()}

    # -- an iteration ----------------------------------------------------------------------------

    def _arrive(self, requests: Rows[Request], outcomes: Outcomes) -> int:
        """Queue the requests that have arrived by now; returns how many are ignored.

        A step admits ``max_num_seqs`` at most and does not look behind the head of the queue, so
        no more need to stand there, with all their tokens. A timeline shows them all.
        """
        scheduler, ignored = self.scheduler, 0
        enough = len(requests) if self._recording else scheduler.scheduler_config.max_num_seqs + 1
        while self._next_row < len(requests) and len(scheduler.waiting) < enough:
            row, request = self._next_row, requests[self._next_row]
            if request.arrival_s > self._clock:
                break
            self._next_row += 1
            config, cache = scheduler.scheduler_config, scheduler.cache_config
            if can_ever_serve(request, config, cache, self._samples):
                place = Place(row, request.total_tokens, -1 - row)
                seq_id, prompt = row * self._samples, prompt_of(request, row)
                seq = Sequence(seq_id, prompt, cache.block_size)
                group = SequenceGroup(request.request_id, [seq], request.arrival_s, place)
                scheduler.add_seq_group(group)
            else:
                outcomes.ignore(row)
                ignored += 1
        return ignored

    def _note(self, out: SchedulerOutputs, outcomes: Outcomes) -> int:
        """Write down which requests are preempted and ignored; returns how many are ignored."""
        for group in self._preempted(out):
            outcomes.preempt(group.sampling_params.row)
        for group in out.ignored_seq_groups:
            outcomes.ignore(group.sampling_params.row)
        return len(out.ignored_seq_groups)

    def _compute(
        self,
        metadata: list[SequenceGroupMetadata],
        out: SchedulerOutputs,
        log: WasteLog,
        outcomes: Outcomes,
        cost_model: CostModel,
    ) -> None:
        """The iteration itself: where the slots are meanwhile, and how long it takes."""
        for scheduled in islice(out.scheduled_seq_groups, out.num_prefill_groups):
            outcomes.schedule(scheduled.seq_group.sampling_params.row, self._clock)
        usage = self._usage(metadata, log)
        self._clock += self._seconds(metadata, out, cost_model)
        log.add(self._clock, *usage, len(self.scheduler.running))

    def _sample(
        self, metadata: list[SequenceGroupMetadata], out: SchedulerOutputs, outcomes: Outcomes
    ) -> int:
        """What was scheduled is computed; a complete prompt or decode gets a token, and may end."""
        finished = 0
        for scheduled, meta in zip(out.scheduled_seq_groups, metadata, strict=True):
            group = scheduled.seq_group
            seq, place = group.seqs[0], group.sampling_params
            data = seq.data
            data.update_num_computed_tokens(scheduled.token_chunk_size)
            if not meta.do_sample:
                continue
            if meta.is_prompt:
                outcomes.answer(place.row, self._clock)
                self._fork(group)
            data.append_token_id(place.token)
            for other in group.seqs[1:]:
                self._sample_too(other, place, meta.is_prompt)
            if len(data.token_ids) == place.goal:
                for seq in group.seqs:
                    seq.status = FINISHED
                    self.scheduler.free_seq(seq)
                outcomes.finish(place.row, self._clock)
                finished += 1
        if finished:
            self.scheduler.free_finished_seq_groups()
            self.scheduler.get_and_reset_finished_requests_ids()
        return finished

    def _fork(self, group: SequenceGroup) -> None:
        """The prompt is computed: from here on its samples, if there are more, go separate ways."""
        parent = group.first_seq
        for i in range(1, self._samples):
            child = parent.fork(parent.seq_id + i)
            group.add(child)
            self.scheduler.fork_seq(parent, child)

    def _sample_too(self, seq: Sequence, place: Place, is_new: bool) -> None:
        """Another sample's token: no sample says what another one says."""
        if not is_new:
            seq.data.update_num_computed_tokens(1)
        seq.data.append_token_id(place.token * self._samples - seq.seq_id % self._samples)

    def _preempted(self, out: SchedulerOutputs) -> Iterable[SequenceGroup]:
        if not out.preempted:
            return ()
        if out.blocks_to_swap_out:
            swapped = self.scheduler.swapped
            return islice(swapped, len(swapped) - out.preempted, None)
        return islice(self.scheduler.waiting, out.preempted)

    # -- where the slots are, and how long it takes ----------------------------------------------

    def _usage(
        self, metadata: list[SequenceGroupMetadata], log: WasteLog
    ) -> tuple[int, int, int, int]:
        """Slots that are token, reserved, internal, external while this step runs."""
        manager = self.scheduler.block_manager
        block_size, free = manager.block_size, manager.get_num_free_gpu_blocks()
        used = (manager.num_total_gpu_blocks - free) * block_size
        reserved, internal = self._later_chunks(metadata), self._empty_slots()
        external = self._homeless(log) + (free * block_size if self._head_waits() else 0)
        return used - reserved - internal, reserved, internal, external

    def _later_chunks(self, metadata: list[SequenceGroupMetadata]) -> int:
        """Slots of prompts that later chunks fill, unless another sequence has filled them."""
        config, cache = self.scheduler.scheduler_config, self.scheduler.cache_config
        if not config.enable_chunked_prefill:
            return 0
        block_size, tables = cache.block_size, self.scheduler.block_manager.block_tables
        for meta in metadata:
            if meta.is_prompt:
                place, (data,) = meta.sampling_params, meta.seq_data.values()
                found = len(meta.computed_block_nums) * block_size
                self._cached[place.row] = max(
                    found, data.num_computed_tokens + meta.token_chunk_size
                )
        left: dict[int, int] = {}
        complete: list[list[int]] = []
        for group in self.scheduler.running:
            table = tables[group.first_seq.seq_id]
            ids, end = table.physical_block_ids, table.num_full_slots
            cached = self._cached[group.sampling_params.row] if group.is_prefill() else end
            for index in range(cached // block_size, cdiv(end, block_size)):
                start = index * block_size
                missing = min(start + block_size, end) - max(start, cached)
                left[ids[index]] = missing  # a shared block lacks all of it
            complete.append(ids[: cached // block_size])
        if cache.enable_prefix_caching:
            for ids in complete:
                for block_id in left.keys() & ids:
                    del left[block_id]
        return sum(left.values())

    def _empty_slots(self) -> int:
        """Slots without a token: in last blocks, which may be shared, and in the null block."""
        manager, empty = self.scheduler.block_manager, {}
        block_size, tables = manager.block_size, manager.block_tables
        if (null_block_id := manager.block_allocator.null_block_id) is not None:
            empty[null_block_id] = block_size
        for group in self.scheduler.running:
            for seq in group.seqs:
                table = tables[seq.seq_id]
                ids = table.physical_block_ids
                empty[ids[-1]] = len(ids) * block_size - table.num_full_slots
        return sum(empty.values())

    def _head_waits(self) -> bool:
        """Whether a request waits for lack of blocks, and not for lack of seats."""
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

    def _homeless(self, log: WasteLog) -> int:
        """Slots of the pool that make no whole block."""
        config = self.scheduler.cache_config
        return log.pool - config.num_gpu_blocks * config.block_size

    def _seconds(
        self, metadata: list[SequenceGroupMetadata], out: SchedulerOutputs, cost_model: CostModel
    ) -> float:
        """How long the step takes: what each sequence computes, and what it reads for that.

        Of a chunk only what is neither computed nor found in the prefix cache is computed; if
        nothing is left, its last token, as in vLLM.
        """
        cache = self.scheduler.cache_config
        window = cache.sliding_window or sys.maxsize
        prompts = decodes = read = 0
        for meta in metadata:
            found = len(meta.computed_block_nums) * cache.block_size
            for data in meta.seq_data.values():
                start = data.num_computed_tokens
                end = start + meta.token_chunk_size
                if meta.is_prompt:
                    start = min(max(start, found), end - 1)
                    prompts += end - start
                    read += min(start, window - 1)
                else:
                    decodes += 1
                    read += min(end, window)
        moved = len(out.blocks_to_swap_in) + len(out.blocks_to_swap_out)
        return cost_model.seconds(prompts, decodes, read, moved * cache.block_size)
