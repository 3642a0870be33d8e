"""The scheduler: which groups compute in the next step, and which must make room.

Groups wait in ``waiting``, compute in ``running``, or sit on the CPU in ``swapped``. A step begins
with `Scheduler.schedule`; its decisions are a `SchedulerOutputs`.

Source: vLLM 0.6.4.post1, ``vllm/core/scheduler.py``.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable

from pagesim.checks import check_a, check_time
from pagesim.errors import UsageError
from pagesim.journal import event
from pagesim.journal.effects import BACK, FRONT, PROMPT
from pagesim.journal.state import State
from pagesim.v0.block.interfaces import Device
from pagesim.v0.block_manager import AllocStatus, SelfAttnBlockSpaceManager, first_seq_id
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler_guards import check_chunk_size, check_new, check_running, check_waiting
from pagesim.v0.scheduler_metadata import metadata_of, rows_of_step, who
from pagesim.v0.scheduler_outputs import (
    ScheduledSequenceGroup,
    SchedulerOutputs,
    SchedulerPrefillOutputs,
    SchedulerRunningOutputs,
    SchedulerSwappedInOutputs,
    SchedulingBudget,
    SequenceGroupMetadata,
)
from pagesim.v0.scheduler_policy import PromptDelay, by_urgency, urgency
from pagesim.v0.sequence import Sequence, SequenceGroup, SequenceStage, SequenceStatus
from pagesim.v0.state import with_queues

QUEUES = ("waiting", "running", "swapped")
PREFILL = SequenceStage.PREFILL
WAITING, RUNNING = SequenceStatus.WAITING, SequenceStatus.RUNNING
SWAPPED = SequenceStatus.SWAPPED


class Scheduler:
    """Decides each step by the policy and within the budgets of ``scheduler_config``.

    ``clock`` is read once per step. Prefix caching evicts by these times and the delay of prompts
    is measured with them, so arrival times must come from the same clock. ``waiting``, ``running``
    and ``swapped`` are live queues, front first: read them only. A call of `schedule` that raises
    changes nothing (in vLLM all groups vanish from the queues).
    """

    def __init__(
        self,
        scheduler_config: SchedulerConfig,
        cache_config: CacheConfig,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_a("scheduler_config", scheduler_config, SchedulerConfig)
        check_a("cache_config", cache_config, CacheConfig)
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
        self.journal = self.block_manager.journal
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

    @event(first_seq_id, kind="arrive", called="add_seq_group", queues=True)
    def add_seq_group(self, seq_group: SequenceGroup) -> None:
        """Queue a new request. UsageError unless it has one waiting sequence, which has a token."""
        check_new(seq_group)
        if self._by_priority or self._delay.factor > 0:
            check_time(f"arrival_time of group {seq_group.request_id!r}", seq_group.arrival_time)
        self.waiting.append(seq_group)
        self.journal.move(who(seq_group), None, "waiting")
        self.journal.note((PROMPT, seq_group.request_id, seq_group.first_seq.get_len()))

    def abort_seq_group(self, request_id: str | Iterable[str]) -> None:
        """Drop requests from whichever queue they are in; unknown ids are ignored."""
        wanted = {request_id} if isinstance(request_id, str) else set(request_id)
        for queue in QUEUES:
            for seq_group in [g for g in getattr(self, queue) if g.request_id in wanted]:
                wanted.discard(seq_group.request_id)
                self._abort(seq_group, queue)

    @event(first_seq_id, kind="abort", called="abort_seq_group", queues=True, atomic=True)
    def _abort(self, seq_group: SequenceGroup, queue: str) -> None:
        for seq in seq_group.get_unfinished_seqs():
            self._set_status(seq, SequenceStatus.FINISHED_ABORTED)
            self.free_seq(seq)
        getattr(self, queue).remove(seq_group)
        self._finished_requests_ids.append(seq_group.request_id)
        self.journal.move(who(seq_group), queue, None)

    def fork_seq(self, parent_seq: Sequence, child_seq: Sequence) -> None:
        """Let the child share the parent's blocks. Adding it to the group is the caller's job."""
        self.block_manager.fork(parent_seq, child_seq)

    def free_seq(self, seq: Sequence) -> None:
        """Free a sequence's blocks."""
        self.block_manager.free(seq)

    def free_finished_seq_groups(self) -> None:
        """Remove finished groups from the running ones; free finished sequences of the others."""
        still_running: deque[SequenceGroup] = deque()
        for seq_group in self.running:
            if seq_group.seqs[0].status > SWAPPED:
                self._finish(seq_group)
                continue
            still_running.append(seq_group)
            for seq in seq_group.seqs:
                if seq.status > SWAPPED and seq.seq_id in self.block_manager.block_tables:
                    self.free_seq(seq)
        self.running = still_running

    @event(first_seq_id, kind="finish", called="free_finished_seq_groups", queues=True)
    def _finish(self, seq_group: SequenceGroup) -> None:
        for seq in seq_group.get_finished_seqs():
            self.free_seq(seq)
        self._finished_requests_ids.append(seq_group.request_id)
        self.journal.move(who(seq_group), "running", None)

    def get_and_reset_finished_requests_ids(self) -> list[str]:
        """Return the ids of the requests that finished or were aborted since the last call."""
        finished, self._finished_requests_ids = self._finished_requests_ids, []
        return finished

    def has_unfinished_seqs(self) -> bool:
        """Whether any group is waiting, running or swapped out."""
        return bool(self.waiting or self.running or self.swapped)

    def get_num_unfinished_seq_groups(self) -> int:
        """Return the number of groups that are waiting, running or swapped out."""
        return len(self.waiting) + len(self.running) + len(self.swapped)

    def get_prefix_cache_hit_rate(self, device: Device) -> float:
        """Return hits ÷ lookups on ``device``, or -1 without caching."""
        return self.block_manager.get_prefix_cache_hit_rate(device)

    # -- a step ----------------------------------------------------------------------------------

    def schedule(self) -> tuple[list[SequenceGroupMetadata], SchedulerOutputs, bool]:
        """Decide the next step: what each group computes, and which blocks move before it.

        The bool in the result is vLLM's "output may be processed asynchronously"; here it is always
        False. RuntimeError if a group must be swapped out and the CPU has no room for it.
        UsageError if a forked group would have to be recomputed, if a group that was swapped out by
        priority would be admitted, or if chunked prefill with prefix caching has a token budget
        that is not a multiple of the block size. In all of these cases nothing has changed.
        """
        forked = any(len(seq_group.seqs) > 1 for seq_group in self.running)
        with self.journal.step("schedule", self._may_fail or forked):
            self.journal.was(self, "waiting", "num_cumulative_preemption")
            self.journal.was(self, "running", "swapped", "_delay", copied=True)
            return self._step()

    def _step(self) -> tuple[list[SequenceGroupMetadata], SchedulerOutputs, bool]:
        self._now = check_time("clock()", self.clock())
        if self.running or self.waiting:
            check_chunk_size(self.scheduler_config, self.cache_config)
        check_running(self.running, self.scheduler_config, self.block_manager.block_tables)
        outputs = self._schedule_chunked_prefill() if self._chunked else self._schedule_default()
        return self._describe(outputs), outputs, False

    @event(kind="schedule", queues=True)
    def _describe(self, outputs: SchedulerOutputs) -> list[SequenceGroupMetadata]:
        """What workers are told about each scheduled group."""
        metadata = metadata_of(outputs, self.block_manager, self._now)
        changed = ("waiting", "running") if self._by_priority else ("running",)
        queues = {queue: getattr(self, queue) for queue in changed}
        self.journal.note_all(rows_of_step, outputs, queues)
        return metadata

    def _schedule_default(self) -> SchedulerOutputs:
        """Only prefills if there are any and no group is swapped out; otherwise only decodes."""
        budget = SchedulingBudget.of(self.scheduler_config)
        budget.num_curr_seqs = len(self.running)
        lost: list[tuple[int, int]] = []
        prefills = SchedulerPrefillOutputs()
        running, swapped_in = SchedulerRunningOutputs(), SchedulerSwappedInOutputs()
        if not self.swapped:
            prefills = self._schedule_prefills(budget)
        if not prefills.seq_groups:
            if self._by_priority:
                lost = self._schedule_priority_preemption(budget)
            running = self._schedule_running(budget)
            if not running.num_preempted:
                swapped_in = self._schedule_swapped(budget)
            self._put_preempted(running)
        scheduled = prefills.seq_groups + running.decode_seq_groups + swapped_in.decode_seq_groups
        self.running.extend(each.seq_group for each in scheduled)
        return SchedulerOutputs.of(
            scheduled, budget, prefills, running, swapped_in, len(self.running), lost
        )

    def _schedule_chunked_prefill(self) -> SchedulerOutputs:
        """Running groups first; the rest of the budget goes to prompts, cut to fit."""
        budget = SchedulingBudget.of(self.scheduler_config)
        swapped_in = SchedulerSwappedInOutputs()
        running = self._schedule_running(budget)
        if not running.num_preempted:
            swapped_in = self._schedule_swapped(budget)
        prefills = self._schedule_prefills(budget)
        self._put_preempted(running)
        for part in (
            swapped_in.decode_seq_groups,
            swapped_in.prefill_seq_groups,
            running.decode_seq_groups,
            running.prefill_seq_groups,
            prefills.seq_groups,
        ):
            self.running.extend(each.seq_group for each in part)
        scheduled = (
            prefills.seq_groups
            + running.prefill_seq_groups
            + swapped_in.prefill_seq_groups
            + running.decode_seq_groups
            + swapped_in.decode_seq_groups
        )
        return SchedulerOutputs.of(
            scheduled, budget, prefills, running, swapped_in, len(self.running)
        )

    # -- running groups continue, or make room ---------------------------------------------------

    def _schedule_running(self, budget: SchedulingBudget) -> SchedulerRunningOutputs:
        """Let the running groups compute, and preempt from the end of ``running`` for room.

        Takes them from ``running``; groups beyond the token budget stay there, and come first in
        the next step.
        """
        out = SchedulerRunningOutputs(num_lookahead_slots=self._lookahead)
        running, manager = self.running, self.block_manager
        while running:
            seq_group = running[0]
            is_prefill = seq_group.seqs[0].data.stage is PREFILL
            new_tokens = len(seq_group.seqs)
            if is_prefill or self._chunked:
                new_tokens = self._num_new_tokens(seq_group.seqs, budget, self._chunked)
            if not 0 < new_tokens <= budget.remaining_token_budget():
                break
            running.popleft()
            lookahead = 0 if is_prefill else self._lookahead
            while not manager.can_append_slots(seq_group, lookahead):
                victim = running.pop() if running else seq_group
                if self._preempt(victim, out.blocks_to_swap_out):
                    out.preempted.append(victim)
                else:
                    out.swapped_out.append(victim)
                if victim is seq_group:
                    break
            else:
                for seq in seq_group.seqs:
                    out.blocks_to_copy += manager.append_slots(seq, lookahead)
                if is_prefill:
                    out.prefill_seq_groups.append(ScheduledSequenceGroup(seq_group, new_tokens))
                else:
                    out.decode_seq_groups.append(ScheduledSequenceGroup(seq_group, 1))
                # Without chunks, the group took its seat when the step began.
                budget.add(new_tokens, 1 if self._chunked else 0)
        return out

    @event(first_seq_id, kind="preempt", queues=True)
    def _preempt(
        self,
        victim: SequenceGroup,
        swap_pairs: list[tuple[int, int]],
        *,
        by_priority: bool = False,
    ) -> bool:
        """Take a group's blocks away; True if it will be recomputed, False if it was swapped."""
        self.num_cumulative_preemption += 1
        recompute = self.scheduler_config.preemption_mode != "swap"
        if recompute:
            self._preempt_by_recompute(victim)
        else:
            self._preempt_by_swap(victim, swap_pairs)
        target, place = ("waiting", FRONT) if recompute or by_priority else ("swapped", BACK)
        self.journal.move(who(victim), "running", target, place)
        return recompute

    def _preempt_by_recompute(self, victim: SequenceGroup) -> None:
        if len(victim.seqs) != 1:
            raise UsageError(
                f"group {victim.request_id!r} has {len(victim.seqs)} sequences that share blocks: "
                f"it cannot be recomputed; set preemption_mode='swap'"
            )
        (seq,) = victim.seqs
        self._set_status(seq, WAITING)
        self.free_seq(seq)
        self.journal.was(seq.data, "num_computed_tokens", "stage")
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

    def _put_preempted(self, running: SchedulerRunningOutputs) -> None:
        """Queue the victims again; the youngest was preempted first, and comes last of them."""
        self.waiting.extendleft(running.preempted)
        self.swapped.extend(running.swapped_out)

    def _schedule_priority_preemption(self, budget: SchedulingBudget) -> list[tuple[int, int]]:
        """Make room for the head of ``waiting`` from less urgent groups, then sort both queues.

        As in vLLM, the head is the first group before the sort, and the room is not reserved for
        it. A victim waits even if it was swapped out: its blocks on the CPU never come back.
        Returns the (GPU, CPU) pairs of these blocks.
        """
        waiting, running = self.waiting.copy(), by_urgency(self.running)
        blocks_lost: list[tuple[int, int]] = []
        if waiting:
            head = waiting.popleft()
            check_waiting(head)
            while running and urgency(running[-1]) > urgency(head):
                fits = budget.can_schedule(self._num_new_tokens(head.seqs, budget, False), 1)
                if fits and self.block_manager.can_allocate(head) is AllocStatus.OK:
                    break
                victim = running.pop()
                budget.num_curr_seqs -= 1
                self._preempt(victim, blocks_lost, by_priority=True)
                waiting.appendleft(victim)
            waiting.appendleft(head)
        self.waiting, self.running = by_urgency(waiting), running
        return blocks_lost

    # -- swapped groups come back ----------------------------------------------------------------

    def _schedule_swapped(self, budget: SchedulingBudget) -> SchedulerSwappedInOutputs:
        """Swap in from the head of ``swapped`` while blocks and budget last."""
        out = SchedulerSwappedInOutputs()
        while self.swapped:
            seq_group = self.swapped[0]
            is_prefill = seq_group.is_prefill()
            lookahead = 0 if is_prefill else self._lookahead
            status = self.block_manager.can_swap_in(seq_group, lookahead)
            if status is AllocStatus.LATER:
                break
            if status is AllocStatus.NEVER:
                self._ignore(self.swapped.popleft(), "swapped", out.infeasible_seq_groups)
                continue
            # As in vLLM, the tokens are not cut to the budget here, not even in chunked mode.
            new_tokens = self._num_new_tokens(seq_group.seqs, budget, chunked=False)
            if not budget.can_schedule(new_tokens, 1):
                break
            self._swap_in(self.swapped.popleft(), out.blocks_to_swap_in)
            for seq in seq_group.seqs:
                out.blocks_to_copy += self.block_manager.append_slots(seq, lookahead)
            if is_prefill:
                out.prefill_seq_groups.append(ScheduledSequenceGroup(seq_group, new_tokens))
            else:
                out.decode_seq_groups.append(ScheduledSequenceGroup(seq_group, 1))
            budget.add(new_tokens, 1)
        return out

    @event(first_seq_id, kind="resume", queues=True)
    def _swap_in(self, seq_group: SequenceGroup, swap_pairs: list[tuple[int, int]]) -> None:
        swap_pairs += self.block_manager.swap_in(seq_group)
        for seq in seq_group.seqs:
            self._set_status(seq, RUNNING)
        self.journal.move(who(seq_group), "swapped", "running")

    # -- waiting groups are admitted -------------------------------------------------------------

    def _schedule_prefills(self, budget: SchedulingBudget) -> SchedulerPrefillOutputs:
        """Admit from the head of ``waiting`` while blocks and budget last: strictly in order."""
        out = SchedulerPrefillOutputs()
        limit = self.scheduler_config.max_model_len
        if not self._chunked:
            limit = min(limit, self.scheduler_config.max_num_batched_tokens)
        while self._delay.passed(self._now, self.waiting, self.running) and self.waiting:
            seq_group = self.waiting[0]
            check_waiting(seq_group)
            new_tokens = max(0, self._num_new_tokens(seq_group.seqs, budget, self._chunked))
            status = AllocStatus.NEVER
            if new_tokens <= limit:
                status = self.block_manager.can_allocate(seq_group)
            if status is AllocStatus.LATER:
                break
            if status is AllocStatus.NEVER:
                self._ignore(self._pop_waiting(), "waiting", out.ignored_seq_groups)
                continue
            if new_tokens == 0 or not budget.can_schedule(new_tokens, 1):
                break
            self._allocate_and_set_running(self._pop_waiting())
            out.seq_groups.append(ScheduledSequenceGroup(seq_group, new_tokens))
            budget.add(new_tokens, 1)
        self._delay.prev_prompt = bool(out.seq_groups)
        return out

    @event(first_seq_id, kind="admit", queues=True)
    def _allocate_and_set_running(self, seq_group: SequenceGroup) -> None:
        self.block_manager.allocate(seq_group)
        for seq in seq_group.seqs:
            self._set_status(seq, RUNNING)
        self.journal.move(who(seq_group), "waiting", "running")

    @event(first_seq_id, kind="ignore", queues=True)
    def _ignore(self, seq_group: SequenceGroup, queue: str, ignored: list[SequenceGroup]) -> None:
        """Drop a group that will never fit. As in vLLM, its CPU blocks, if any, stay taken."""
        for seq in seq_group.seqs:
            self._set_status(seq, SequenceStatus.FINISHED_IGNORED)
        ignored.append(seq_group)
        self.journal.move(who(seq_group), queue, None)

    # -- helpers ---------------------------------------------------------------------------------

    def _num_new_tokens(self, seqs: list[Sequence], budget: SchedulingBudget, chunked: bool) -> int:
        """Tokens that a group would compute next; in chunked mode a single sequence's are cut."""
        new_tokens = sum(seq.get_num_new_tokens() for seq in seqs)
        if not chunked or len(seqs) > 1:
            return new_tokens
        remaining = budget.remaining_token_budget()
        if self.cache_config.enable_prefix_caching:
            # Chunks end at block boundaries, so that the next one finds whole blocks.
            block_size = self._block_size
            return new_tokens if new_tokens <= remaining else remaining // block_size * block_size
        return min(new_tokens, remaining)

    def _pop_waiting(self) -> SequenceGroup:
        seq_group = self.waiting.popleft()
        self.journal.undo(self.waiting.appendleft, seq_group)
        return seq_group

    def _set_status(self, seq: Sequence, status: SequenceStatus) -> None:
        self.journal.was(seq, "status")
        seq.status = status

    # -- recording -------------------------------------------------------------------------------

    def state(self) -> State:
        """Return the present state of queues, tables and pools."""
        return with_queues(self.block_manager.state(), {q: getattr(self, q) for q in QUEUES})
