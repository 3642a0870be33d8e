"""The scheduler: which groups compute in the next step, and which must make room.

Groups wait in ``waiting``, compute in ``running``, or sit on the CPU in ``swapped``. A step begins
with `Scheduler.schedule`; what it decided is a `SchedulerOutputs`.

Source: vLLM 0.6.4.post1, ``vllm/core/scheduler.py``.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from pagesim.checks import check_time
from pagesim.errors import UsageError
from pagesim.v0.block.interfaces import Device
from pagesim.v0.block_manager import AllocStatus, SelfAttnBlockSpaceManager
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler_guards import check_chunk_size, check_running, check_waiting
from pagesim.v0.scheduler_outputs import (
    ScheduledSequenceGroup,
    SchedulerOutputs,
    SchedulingBudget,
    SequenceGroupMetadata,
)
from pagesim.v0.scheduler_policy import PromptDelay, by_urgency, urgency
from pagesim.v0.sequence import Sequence, SequenceGroup, SequenceStage, SequenceStatus

Scheduled = list[ScheduledSequenceGroup]
PREFILL = SequenceStage.PREFILL
WAITING, RUNNING, SWAPPED = (
    SequenceStatus.WAITING,
    SequenceStatus.RUNNING,
    SequenceStatus.SWAPPED,
)


class Scheduler:
    """Decides each step by the policy and within the budgets of ``scheduler_config``.

    ``clock`` is read once a step: prefix caching evicts by it, and it says how long prompts have
    been delayed, so arrival times are on the same clock. ``waiting``, ``running`` and
    ``swapped`` are live queues, front first: read them only. A `schedule` that raises has changed
    nothing (in vLLM all groups vanish from the queues).
    """

    def __init__(
        self,
        scheduler_config: SchedulerConfig,
        cache_config: CacheConfig,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not isinstance(scheduler_config, SchedulerConfig):
            raise TypeError(f"scheduler_config must be a SchedulerConfig, not {scheduler_config!r}")
        if not isinstance(cache_config, CacheConfig):
            raise TypeError(f"cache_config must be a CacheConfig, not {cache_config!r}")
        self.scheduler_config = scheduler_config
        self.cache_config = cache_config
        self.clock = clock
        self.block_manager = SelfAttnBlockSpaceManager(
            cache_config.block_size,
            cache_config.num_gpu_blocks,
            cache_config.num_cpu_blocks,
            cache_config.watermark,
            cache_config.sliding_window,
            cache_config.enable_prefix_caching,
        )
        self.waiting: deque[SequenceGroup] = deque()
        self.running: deque[SequenceGroup] = deque()
        self.swapped: deque[SequenceGroup] = deque()
        self.num_cumulative_preemption = 0
        self._finished_requests_ids: list[str] = []
        self._undo = self.block_manager.block_allocator.undo
        self._block_size = cache_config.block_size
        self._chunked = scheduler_config.enable_chunked_prefill
        self._lookahead = scheduler_config.num_lookahead_slots
        self._by_priority = scheduler_config.policy == "priority"
        self._delay = PromptDelay(scheduler_config.delay_factor)
        self._now = 0.0
        self._may_fail = (
            scheduler_config.preemption_mode == "swap" or cache_config.sliding_window is not None
        )

    # -- requests come and go --------------------------------------------------------------------

    def add_seq_group(self, seq_group: SequenceGroup) -> None:
        """Let a new request wait. UsageError unless it is one waiting sequence with a token."""
        if not isinstance(seq_group, SequenceGroup):
            raise TypeError(f"seq_group must be a SequenceGroup, not {seq_group!r}")
        name = f"group {seq_group.request_id!r}"
        if len(seq_group.seqs) != 1:
            raise UsageError(
                f"{name} has {len(seq_group.seqs)} sequences: a request begins with one, "
                f"fork it after its prefill"
            )
        if seq_group.first_seq.status is not WAITING:
            raise UsageError(f"{name} must be WAITING, not {seq_group.first_seq.status.name}")
        if not seq_group.first_seq.get_len():
            raise UsageError(f"the prompt of {name} is empty: it needs a token")
        if self._by_priority or self._delay.factor > 0:
            check_time(f"arrival_time of {name}", seq_group.arrival_time)
        self.waiting.append(seq_group)

    def abort_seq_group(self, request_id: str | Iterable[str]) -> None:
        """Drop requests from whichever queue they are in; unknown ids are passed over."""
        wanted = {request_id} if isinstance(request_id, str) else set(request_id)
        for queue in (self.waiting, self.running, self.swapped):
            for seq_group in [group for group in queue if group.request_id in wanted]:
                wanted.discard(seq_group.request_id)
                queue.remove(seq_group)
                self._finished_requests_ids.append(seq_group.request_id)
                for seq in seq_group.get_unfinished_seqs():
                    seq.status = SequenceStatus.FINISHED_ABORTED
                    self.free_seq(seq)

    def fork_seq(self, parent_seq: Sequence, child_seq: Sequence) -> None:
        """Let the child share the parent's blocks. Adding it to the group is the caller's job."""
        self.block_manager.fork(parent_seq, child_seq)

    def free_seq(self, seq: Sequence) -> None:
        """Give a sequence's blocks back."""
        self.block_manager.free(seq)

    def free_finished_seq_groups(self) -> None:
        """Drop the running groups that are finished; free the sequences that are."""
        still_running: deque[SequenceGroup] = deque()
        for seq_group in self.running:
            for seq in seq_group.seqs:
                if seq.status > SWAPPED:
                    self.free_seq(seq)
            if seq_group.seqs[0].status > SWAPPED:
                self._finished_requests_ids.append(seq_group.request_id)
            else:
                still_running.append(seq_group)
        self.running = still_running

    def get_and_reset_finished_requests_ids(self) -> list[str]:
        """The requests that finished or were aborted since the last call."""
        finished, self._finished_requests_ids = self._finished_requests_ids, []
        return finished

    def has_unfinished_seqs(self) -> bool:
        """Whether any group waits, runs or is swapped out."""
        return bool(self.waiting or self.running or self.swapped)

    def get_num_unfinished_seq_groups(self) -> int:
        """How many groups wait, run or are swapped out."""
        return len(self.waiting) + len(self.running) + len(self.swapped)

    def get_prefix_cache_hit_rate(self, device: Device) -> float:
        """Hits ÷ lookups on ``device``; -1 without caching."""
        return self.block_manager.get_prefix_cache_hit_rate(device)

    # -- a step ----------------------------------------------------------------------------------

    def schedule(self) -> tuple[list[SequenceGroupMetadata], SchedulerOutputs, bool]:
        """Decide the next step: what each group is to compute, and what moves before.

        The bool is vLLM's "output may be processed asynchronously": always False here.
        RuntimeError if a group must be swapped out and the CPU has no room for it; UsageError if
        a forked group would have to be recomputed, if a group that priority swapped out would be
        admitted, or if chunked prefill with prefix caching has a token budget that is no multiple
        of the block size. Nothing has changed then.
        """
        self._now = now = check_time("clock()", self.clock())
        outputs = self._schedule()
        manager = self.block_manager
        tables, caching = manager.block_tables, manager.enable_caching
        computed: list[int] = []
        metadata: list[SequenceGroupMetadata] = []
        for scheduled in outputs.scheduled_seq_groups:
            seq_group, chunk = scheduled.seq_group, scheduled.token_chunk_size
            seqs = seq_group.seqs
            seq, data = seqs[0], seqs[0].data
            seq_data = {seq.seq_id: data}
            block_tables = {seq.seq_id: tables[seq.seq_id].physical_block_ids.copy()}
            for other in seqs[1:]:
                seq_data[other.seq_id] = other.data
                block_tables[other.seq_id] = manager.get_block_table(other)
            if caching:
                for seq in seqs:
                    manager.access_all_blocks_in_seq(seq, now)
                computed = manager.get_common_computed_block_ids(seqs)
            is_prompt = data.stage is PREFILL
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
        return metadata, outputs, False

    def _schedule(self) -> SchedulerOutputs:
        if self.running or self.waiting:
            check_chunk_size(self.scheduler_config, self.cache_config)
        tables = self.block_manager.block_tables
        forked = check_running(self.running, self.scheduler_config, tables)
        step = self._schedule_chunked_prefill if self._chunked else self._schedule_default
        if not (self._may_fail or forked):  # nothing else needs a way back
            return step()
        waiting, running, swapped = self.waiting, self.running.copy(), self.swapped.copy()
        preemptions, delay = self.num_cumulative_preemption, replace(self._delay)
        try:
            with self._undo:
                return step()
        except BaseException:
            self.waiting, self.running, self.swapped = waiting, running, swapped
            self.num_cumulative_preemption, self._delay = preemptions, delay
            raise

    def _budget(self) -> SchedulingBudget:
        config = self.scheduler_config
        return SchedulingBudget(config.max_num_batched_tokens, config.max_num_seqs)

    def _schedule_default(self) -> SchedulerOutputs:
        """Prefills alone, if no group is swapped out and one is admitted; else all decode."""
        budget = self._budget()
        budget.num_curr_seqs = len(self.running)
        out = SchedulerOutputs([], 0, 0, [], [], [], [], 0, 0, 0)
        prefills = [] if self.swapped else self._schedule_prefills(budget, out)
        if prefills:
            self.running.extend(scheduled.seq_group for scheduled in prefills)
            out.scheduled_seq_groups, out.num_prefill_groups = prefills, len(prefills)
        else:
            if self._by_priority:
                self._schedule_priority_preemption(budget, out)
            _, decodes, preempted, swapped_out = self._schedule_running(budget, out)
            out.preempted = len(preempted) + len(swapped_out)
            back: Scheduled = []
            if not out.preempted:
                _, back = self._schedule_swapped(budget, out)
            self._put_preempted(preempted, swapped_out)
            out.scheduled_seq_groups = decodes + back if back else decodes
            self.running.extend(scheduled.seq_group for scheduled in out.scheduled_seq_groups)
        return self._finish(out, budget)

    def _schedule_chunked_prefill(self) -> SchedulerOutputs:
        """Running groups first; what is left of the budget goes to prompts, cut to fit."""
        budget = self._budget()
        out = SchedulerOutputs([], 0, 0, [], [], [], [], 0, 0, 0)
        chunks, decodes, preempted, swapped_out = self._schedule_running(budget, out)
        out.preempted = len(preempted) + len(swapped_out)
        back_chunks: Scheduled = []
        back: Scheduled = []
        if not out.preempted:
            back_chunks, back = self._schedule_swapped(budget, out)
        infeasible, out.ignored_seq_groups = out.ignored_seq_groups, []
        prefills = self._schedule_prefills(budget, out)
        out.ignored_seq_groups += infeasible
        self._put_preempted(preempted, swapped_out)
        for part in (back, back_chunks, decodes, chunks, prefills):
            self.running.extend(scheduled.seq_group for scheduled in part)
        out.num_prefill_groups = len(prefills) + len(chunks) + len(back_chunks)
        out.scheduled_seq_groups = prefills + chunks + back_chunks + decodes + back
        return self._finish(out, budget)

    def _finish(self, out: SchedulerOutputs, budget: SchedulingBudget) -> SchedulerOutputs:
        if out.blocks_to_swap_in and out.blocks_to_swap_out:
            raise RuntimeError("a step swapped in and out: blocks would overwrite each other")
        out.num_batched_tokens = budget.num_batched_tokens
        out.running_queue_size = len(self.running)
        return out

    # -- running groups go on, or make room -------------------------------------------------------

    def _schedule_running(
        self, budget: SchedulingBudget, out: SchedulerOutputs
    ) -> tuple[Scheduled, Scheduled, list[SequenceGroup], list[SequenceGroup]]:
        """The running groups that compute: prefill chunks, decodes; and those preempted, swapped.

        Takes them from ``running``; what the token budget does not reach stays there, and goes
        first in the next step.
        """
        chunks: Scheduled = []
        decodes: Scheduled = []
        preempted: list[SequenceGroup] = []
        swapped_out: list[SequenceGroup] = []
        running, manager, chunked = self.running, self.block_manager, self._chunked
        can_append_slots, append_slots = manager.can_append_slots, manager.append_slots
        out.num_lookahead_slots = self._lookahead
        while running:
            seq_group = running[0]
            seqs = seq_group.seqs
            is_prefill = seqs[0].data.stage is PREFILL
            new_tokens = len(seqs)
            if is_prefill or chunked:
                new_tokens = self._num_new_tokens(seqs, budget, chunked)
            if not 0 < new_tokens <= budget.remaining_token_budget():
                break
            running.popleft()
            lookahead = 0 if is_prefill else self._lookahead
            while not can_append_slots(seq_group, lookahead):
                victim = running.pop() if running else seq_group
                if self._preempt(victim, out.blocks_to_swap_out):
                    preempted.append(victim)
                else:
                    swapped_out.append(victim)
                if victim is seq_group:
                    break
            else:
                for seq in seqs:
                    if copies := append_slots(seq, lookahead):
                        out.blocks_to_copy += copies
                if is_prefill:
                    chunks.append(ScheduledSequenceGroup(seq_group, new_tokens))
                else:
                    decodes.append(ScheduledSequenceGroup(seq_group, 1))
                # Without chunks the group took its seat when the step began.
                budget.add(new_tokens, 1 if chunked else 0)
        return chunks, decodes, preempted, swapped_out

    def _schedule_priority_preemption(
        self, budget: SchedulingBudget, out: SchedulerOutputs
    ) -> None:
        """Make room for the head of ``waiting`` from less urgent groups, then sort both queues.

        As in vLLM the head is the group that stands there before the sort, and the room is not
        kept for it. A victim waits, even if it was swapped out: its blocks never come back.
        """
        waiting, running = self.waiting.copy(), by_urgency(self.running)
        if waiting:
            head = waiting.popleft()
            check_waiting(head)
            while running and urgency(running[-1]) > urgency(head):
                if self._can_admit(head, budget):
                    break
                victim = running.pop()
                budget.num_curr_seqs -= 1
                self._preempt(victim, out.blocks_lost, by_priority=True)
                waiting.appendleft(victim)
            waiting.appendleft(head)
        self.waiting, self.running = by_urgency(waiting), running

    def _can_admit(self, seq_group: SequenceGroup, budget: SchedulingBudget) -> bool:
        new_tokens = self._num_new_tokens(seq_group.seqs, budget, chunked=False)
        return self.block_manager.can_allocate(seq_group) is AllocStatus.OK and budget.can_schedule(
            new_tokens, 1
        )

    def _preempt(
        self,
        victim: SequenceGroup,
        swap_pairs: list[tuple[int, int]],
        *,
        by_priority: bool = False,
    ) -> bool:
        """Take a group's blocks away; True if it will be recomputed, False if it was swapped."""
        self.num_cumulative_preemption += 1
        if self.scheduler_config.preemption_mode == "swap":
            self._preempt_by_swap(victim, swap_pairs)
            return False
        self._preempt_by_recompute(victim)
        return True

    def _preempt_by_recompute(self, victim: SequenceGroup) -> None:
        if len(victim.seqs) != 1:
            raise UsageError(
                f"group {victim.request_id!r} has {len(victim.seqs)} sequences that share blocks: "
                f"it cannot be recomputed, set preemption_mode='swap'"
            )
        (seq,) = victim.seqs
        self._set_status(seq, WAITING)
        self.free_seq(seq)
        data = seq.data
        if self._undo.active:
            self._undo.note(data.restore_progress, data.get_num_computed_tokens(), data.stage)
        seq.reset_state_for_recompute()

    def _preempt_by_swap(self, victim: SequenceGroup, swap_pairs: list[tuple[int, int]]) -> None:
        if not self.block_manager.can_swap_out(victim):
            free = self.block_manager.get_num_free_cpu_blocks()
            instead = ", or set preemption_mode='recompute'" if len(victim.seqs) == 1 else ""
            raise RuntimeError(
                f"no CPU swap space for group {victim.request_id!r}: {free} CPU blocks are free. "
                f"Raise num_cpu_blocks{instead}"
            )
        swap_pairs += self.block_manager.swap_out(victim)
        for seq in victim.seqs:
            self._set_status(seq, SWAPPED)

    def _put_preempted(
        self, preempted: list[SequenceGroup], swapped_out: list[SequenceGroup]
    ) -> None:
        """The youngest was preempted first: to the front of waiting one by one, it comes last."""
        self.waiting.extendleft(preempted)
        self.swapped.extend(swapped_out)

    # -- swapped groups come back ----------------------------------------------------------------

    def _schedule_swapped(
        self, budget: SchedulingBudget, out: SchedulerOutputs
    ) -> tuple[Scheduled, Scheduled]:
        """Swap in from the head of ``swapped``: those still in prefill, and those that decode."""
        chunks: Scheduled = []
        decodes: Scheduled = []
        manager = self.block_manager
        while self.swapped:
            seq_group = self.swapped[0]
            is_prefill = seq_group.is_prefill()
            lookahead = 0 if is_prefill else self._lookahead
            status = manager.can_swap_in(seq_group, lookahead)
            if status is AllocStatus.LATER:
                break
            if status is AllocStatus.NEVER:
                self._ignore(self.swapped.popleft(), out)
                continue
            # As in vLLM the tokens are not cut to the budget here, not even in chunked mode.
            new_tokens = self._num_new_tokens(seq_group.seqs, budget, chunked=False)
            if not budget.can_schedule(new_tokens, 1):
                break
            self.swapped.popleft()
            out.blocks_to_swap_in += manager.swap_in(seq_group)
            for seq in seq_group.seqs:
                self._set_status(seq, RUNNING)
            for seq in seq_group.seqs:
                out.blocks_to_copy += manager.append_slots(seq, lookahead)
            if is_prefill:
                chunks.append(ScheduledSequenceGroup(seq_group, new_tokens))
            else:
                decodes.append(ScheduledSequenceGroup(seq_group, 1))
            budget.add(new_tokens, 1)
        return chunks, decodes

    # -- waiting groups are admitted -------------------------------------------------------------

    def _schedule_prefills(self, budget: SchedulingBudget, out: SchedulerOutputs) -> Scheduled:
        """Admit from the head of ``waiting`` while blocks and budget last; no group overtakes."""
        prefills: Scheduled = []
        limit = self.scheduler_config.max_model_len
        if not self._chunked:
            limit = min(limit, self.scheduler_config.max_num_batched_tokens)
        while self._delay.passed(self._now, self.waiting, self.running) and self.waiting:
            seq_group = self.waiting[0]
            check_waiting(seq_group)
            new_tokens = max(0, self._num_new_tokens(seq_group.seqs, budget, self._chunked))
            if new_tokens > limit:
                self._ignore(self._pop_waiting(), out)
                continue
            status = self.block_manager.can_allocate(seq_group)
            if status is AllocStatus.LATER:
                break
            if status is AllocStatus.NEVER:
                self._ignore(self._pop_waiting(), out)
                continue
            if new_tokens == 0 or not budget.can_schedule(new_tokens, 1):
                break
            self._pop_waiting()
            self._allocate_and_set_running(seq_group)
            prefills.append(ScheduledSequenceGroup(seq_group, new_tokens))
            budget.add(new_tokens, 1)
        self._delay.prev_prompt = bool(prefills)
        return prefills

    def _allocate_and_set_running(self, seq_group: SequenceGroup) -> None:
        self.block_manager.allocate(seq_group)
        for seq in seq_group.seqs:
            self._set_status(seq, RUNNING)

    def _ignore(self, seq_group: SequenceGroup, out: SchedulerOutputs) -> None:
        """It will never fit. As in vLLM its blocks on the CPU, if it has any, stay taken."""
        for seq in seq_group.seqs:
            self._set_status(seq, SequenceStatus.FINISHED_IGNORED)
        out.ignored_seq_groups.append(seq_group)

    # -- small parts of the above ----------------------------------------------------------------

    def _num_new_tokens(self, seqs: list[Sequence], budget: SchedulingBudget, chunked: bool) -> int:
        """Tokens that a group would compute next; in chunked mode one sequence's, cut to fit."""
        new_tokens = sum(seq.get_num_new_tokens() for seq in seqs)
        if not chunked or len(seqs) > 1:
            return new_tokens
        remaining = budget.remaining_token_budget()
        if self.cache_config.enable_prefix_caching:
            # Chunks end at a block's end, so that the next one finds whole blocks.
            block_size = self._block_size
            return new_tokens if new_tokens <= remaining else remaining // block_size * block_size
        return min(new_tokens, remaining)

    def _pop_waiting(self) -> SequenceGroup:
        seq_group = self.waiting.popleft()
        if self._undo.active:
            self._undo.note(self.waiting.appendleft, seq_group)
        return seq_group

    def _set_status(self, seq: Sequence, status: SequenceStatus) -> None:
        if self._undo.active:
            self._undo.note(setattr, seq, "status", seq.status)
        seq.status = status
