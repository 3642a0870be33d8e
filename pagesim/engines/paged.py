"""The paged policy: the real scheduler and block manager, every token stepped.

What vLLM's engine does around its scheduler is here a loop: let arrivals wait, schedule, give
everybody the token that the model would have sampled, free who is done. One sequence a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Rows
from contextlib import ExitStack
from itertools import islice

from pagesim.checks import check_int
from pagesim.engines.cost_model import CostModel
from pagesim.engines.outcomes import Outcomes
from pagesim.engines.paged_requests import Place, can_ever_serve, prompt_of
from pagesim.engines.progress import Progress, no_progress
from pagesim.engines.stepwise import StepwiseEngine
from pagesim.errors import UsageError
from pagesim.timeline import Timeline
from pagesim.timeline import record as recorded
from pagesim.v0.block_manager import AllocStatus
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.scheduler_outputs import SchedulerOutputs, SequenceGroupMetadata
from pagesim.v0.sequence import Sequence, SequenceGroup, SequenceStatus
from pagesim.waste import WasteLog
from pagesim.workload.request import Request

FINISHED = SequenceStatus.FINISHED_LENGTH_CAPPED


class PagedEngine(StepwiseEngine):
    """Runs a workload through `pagesim.Scheduler`; see :class:`pagesim.engines.Engine`.

    ``samples`` of each request run in one group and share what the prompt fills, as vLLM's groups
    did before 0.6.4; such a group can be preempted by swapping only.

    Blocks that nobody uses and the prefix cache still knows count as free: anybody may take them.
    The blocks of the watermark are external while somebody waits for them. ``timeline`` is what
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
        self._tokens = 0
        """Tokens of the running groups that are cached, while an iteration runs."""
        self._next_row = 0

    def steps(
        self,
        requests: Rows[Request],
        log: WasteLog,
        outcomes: Outcomes,
        cost_model: CostModel,
        progress: Progress = no_progress,
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
                    progress(
                        done
                    )  # nobody comes, or whoever comes would wait behind a head for ever
                    return
                if idle:  # nobody is there but those on the CPU who can never go on
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
        """Let those wait who are there by now; returns how many are ignored.

        A step admits ``max_num_seqs`` at most and looks at nobody behind the head of the queue, so
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
        """Write down who lost its place, and who is ignored; returns how many those are."""
        for group in self._preempted(out):
            outcomes.preempt(group.sampling_params.row)
        for group in out.ignored_seq_groups:
            outcomes.ignore(group.sampling_params.row)
        if out.is_empty():
            self._count(out)
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
        usage = self._usage(out, log)
        self._clock += self._seconds(metadata, out, cost_model)
        log.add(self._clock, *usage, len(self.scheduler.running))

    def _sample(
        self, metadata: list[SequenceGroupMetadata], out: SchedulerOutputs, outcomes: Outcomes
    ) -> int:
        """Everything scheduled is computed; whoever may sample gets a token, and leaves if done."""
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
                if self._samples > len(group.seqs):
                    self._fork(group)
            data.append_token_id(place.token)
            for other in group.seqs[1:]:
                self._sample_too(other, place, meta.is_prompt)
            if len(data.token_ids) == place.goal:
                self._tokens -= place.goal - 1
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
        """The prompt is computed: from here on its samples go separate ways."""
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

    def _usage(self, out: SchedulerOutputs, log: WasteLog) -> tuple[int, int, int, int]:
        """Slots that are token, reserved, internal, external while this step runs."""
        scheduler, manager = self.scheduler, self.scheduler.block_manager
        reserved = 0
        if (
            out.preempted
            or out.blocks_to_swap_in
            or scheduler.scheduler_config.enable_chunked_prefill
        ):
            reserved = self._count(out)
        else:
            self._tokens += out.num_batched_tokens
        block_size = manager.block_size
        free = manager.get_num_free_gpu_blocks()
        used = manager.num_total_gpu_blocks - free
        internal = used * block_size - self._tokens - reserved
        if manager.enable_caching or self._samples > 1:  # several tables may name one block
            internal = self._empty_slots()
        token = used * block_size - internal - reserved
        external = self._homeless(log) + (free * block_size if self._head_waits() else 0)
        return token, reserved, internal, external

    def _empty_slots(self) -> int:
        """Slots that nothing is written to yet: they are in last blocks, which may be shared."""
        block_size, empty = self.scheduler.cache_config.block_size, {}
        for group in self.scheduler.running:
            for seq in group.seqs:
                table = self.scheduler.block_manager.block_tables[seq.seq_id]
                ids = table.physical_block_ids
                empty[ids[-1]] = len(ids) * block_size - table.num_full_slots
        return sum(empty.values())

    def _count(self, out: SchedulerOutputs) -> int:
        """Count the cached tokens anew; returns the slots of prompts that later chunks fill."""
        chunks = {s.seq_group.request_id: s.token_chunk_size for s in out.scheduled_seq_groups}
        self._tokens = reserved = 0
        for group in self.scheduler.running:
            data = group.seqs[0].data
            cached = data.get_num_computed_tokens() + chunks.get(group.request_id, 0)
            self._tokens += cached
            if group.is_prefill():
                reserved += data.get_len() - cached
        return reserved

    def _head_waits(self) -> bool:
        """Whether somebody is kept waiting by a lack of blocks, and not by a lack of seats."""
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
        block_size, prefills = self.scheduler.cache_config.block_size, out.num_prefill_groups
        prompts = cached = 0
        for meta in islice(metadata, prefills):
            hits = min(len(meta.computed_block_nums) * block_size, meta.token_chunk_size - 1)
            prompts += meta.token_chunk_size - hits
            cached += hits
        decodes = len(metadata) - prefills
        read = self._tokens - prompts if decodes else cached
        moved = len(out.blocks_to_swap_in) + len(out.blocks_to_swap_out)
        return cost_model.seconds(prompts, decodes, read, moved * block_size)
