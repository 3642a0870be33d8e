"""The scheduler: how many tokens each request computes in the next step.

There are no phases. Each request has tokens that are not computed yet, and catches up with them as
far as the budget and the blocks allow, whether they are of its prompt or sampled.

Source: vLLM 0.33.0, ``vllm/v1/core/sched/scheduler.py`` and ``async_scheduler.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import filterfalse

from pagesim.checks import Flag, check_a, checked, explained
from pagesim.journal import event
from pagesim.journal.effects import PROMPT, Name
from pagesim.journal.state import State
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.engine import EngineCoreOutput, EngineCoreOutputs
from pagesim.v1.in_flight import begin_again, come_back, last_step_in_flight, take_as_computed
from pagesim.v1.kv_cache_manager import KVCacheManager, request_id_of
from pagesim.v1.kv_cache_metrics import KVCacheMetricsCollector
from pagesim.v1.kv_events import KVCacheEvent
from pagesim.v1.mamba_manager import AlignedMambaManager, mamba_block_aligned_split
from pagesim.v1.offload.config import OffloadingConfig
from pagesim.v1.offload.connector import OffloadingConnector
from pagesim.v1.offload.remote import LOADING, NO_COPIES, ModelRunnerOutput, RemoteKVs
from pagesim.v1.output import SchedulerOutput
from pagesim.v1.request import Request, RequestStatus, append_until_stop
from pagesim.v1.request_queue import FCFSRequestQueue, PriorityRequestQueue, RequestQueue
from pagesim.v1.scheduler_guards import (
    check_all_owned_by_running,
    check_finished,
    check_made_by_hand,
    check_new,
    check_reported,
    check_sampled,
)
from pagesim.v1.scheduler_notes import HOLDING, SchedulerNotes
from pagesim.v1.state import with_queues
from pagesim.v1.step import Found, Step

WAITING, RUNNING = RequestStatus.WAITING, RequestStatus.RUNNING
PREEMPTED = RequestStatus.PREEMPTED


class Scheduler:
    """Decides each step by the policy and within the budgets of ``scheduler_config``.

    ``requests`` are the unfinished ones by id; ``waiting`` and ``running`` are live queues, front
    first: read them only. ``offloading_config`` adds a second tier: then ``kv_holding_waiting`` has
    the requests that wait and hold blocks. A call that raises has changed nothing.
    """

    def __init__(
        self,
        scheduler_config: SchedulerConfig,
        cache_config: CacheConfig,
        offloading_config: OffloadingConfig | None = None,
        *,
        metrics_collector: KVCacheMetricsCollector | None = None,
    ) -> None:
        check_a("scheduler_config", scheduler_config, SchedulerConfig)
        check_a("cache_config", cache_config, CacheConfig)
        if offloading_config is not None:
            check_a("offloading_config", offloading_config, OffloadingConfig)
        self.scheduler_config = scheduler_config
        self.cache_config = cache_config
        self.kv_cache_manager = KVCacheManager(
            cache_config.num_gpu_blocks,
            cache_config.block_size,
            scheduler_config.max_model_len,
            cache_config.enable_prefix_caching,
            cache_config.sliding_window,
            scheduler_config.watermark,
            scheduler_config.max_tokens_in_flight,
            cache_config.retention_interval,
            groups=cache_config.groups,
            hash_block_size=cache_config.hash_block_size,
            enable_kv_cache_events=cache_config.enable_kv_cache_events
            or (offloading_config is not None and offloading_config.enable_kv_cache_events),
            metrics_collector=metrics_collector,
        )
        self.publish: Callable[[list[KVCacheEvent]], None] = lambda events: None
        """Called after a step with what a router should hear, if there is anything."""
        tables = self.kv_cache_manager.coordinator.single_type_managers
        self._aligned = [each for each in tables if isinstance(each, AlignedMambaManager)]
        """The groups of states, where chunks end at the end of a block."""
        self.journal = self.kv_cache_manager.journal
        self.requests: dict[Name, Request] = {}
        self._by_priority = scheduler_config.policy == "priority"
        queue = PriorityRequestQueue if self._by_priority else FCFSRequestQueue
        self.waiting: RequestQueue = queue()
        self.kv_holding_waiting: RequestQueue = queue()
        self.running: list[Request] = []
        self.finished_req_ids: set[Name] = set()
        self.preempted_req_ids: set[Name] = set()
        self._in_flight: dict[SchedulerOutput, int | None] = {}
        """The steps whose output is not known yet, and their numbers in a recording."""
        self.connector: OffloadingConnector | None = None
        if offloading_config is not None:
            self.connector = OffloadingConnector(offloading_config, cache_config, self.journal)
        self.remote = RemoteKVs(scheduler_config, self.kv_cache_manager, offloading_config)
        holding = self.kv_holding_waiting if self.connector else None
        self._notes = SchedulerNotes(self.journal, self.waiting, holding, len(tables))

    # -- requests come and go --------------------------------------------------------------------

    @event(request_id_of, kind="arrive", called="add_request", queues=True)
    def add_request(self, request: Request) -> None:
        """Add a new request to the waiting queue. UsageError names what is wrong with it.

        A prompt of more than ``max_model_len`` tokens is computed up to that length. vLLM's
        scheduler does the same, but its engine refuses such a prompt before.
        """
        check_new(request, self.requests, self.kv_cache_manager.block_pool.hash_block_size)
        if self.connector:
            self.connector.on_new_request(request)
        self.requests[request.request_id] = request
        self.waiting.add_request(request)
        self._notes.moved(request, None, "waiting")
        self.journal.note((PROMPT, request.request_id, request.num_prompt_tokens))

    @explained
    def finish_requests(
        self, request_ids: Name | Iterable[Name], finished_status: RequestStatus
    ) -> list[Request]:
        """End requests from outside and return them; unknown ids are ignored."""
        check_finished(finished_status)
        ids = [request_ids] if isinstance(request_ids, Name) else dict.fromkeys(request_ids)
        known = [self.requests[request_id] for request_id in ids if request_id in self.requests]
        ended = [request for request in known if not request.is_finished()]
        for request in ended:
            self._abort(request, finished_status)
        self._remove_finished(ended)
        return ended

    @event(request_id_of, kind="abort", queues=True)
    def _abort(self, request: Request, status: RequestStatus) -> None:
        is_loading = self.remote.is_loading(request.request_id, request.status)
        request.status = status
        self._free_request(request, is_loading)

    @event(request_id_of, kind="finish", queues=True)
    def _finish(self, request: Request) -> None:
        self._free_request(request)

    def _free_request(self, request: Request, delay_free_blocks: bool = False) -> None:
        """A request is finished, and gives its blocks back; workers hear of it in the next step."""
        self.finished_req_ids.add(request.request_id)
        if self.connector:
            self.remote.filling.pop(request.request_id, None)
            self.connector.request_finished(request)
        self._notes.ended(request)
        if not delay_free_blocks:
            self.remote.free(request)
            del self.requests[request.request_id]

    def _remove_finished(self, finished: Sequence[Request]) -> None:
        if finished:
            self.running = [request for request in self.running if not request.is_finished()]
            self.waiting.remove_requests(finished)
            self.kv_holding_waiting.remove_requests(finished)

    # -- a step ----------------------------------------------------------------------------------

    def schedule(self) -> SchedulerOutput:
        """Decide the next step: running requests first, then the waiting ones while there is room.

        A step may be empty while requests wait, because a request that never fits waits forever.
        """
        with self.journal.step("schedule") as number:
            output = self._step()
            if output.num_scheduled_tokens or self.connector:
                self._in_flight[output] = number
            return output

    def _step(self) -> SchedulerOutput:
        self.kv_cache_manager.new_step_starts()
        config = self.scheduler_config
        threshold = config.threshold_among(self.get_num_unfinished_requests())
        step = Step(config.max_num_batched_tokens, threshold)
        self._schedule_running(step)
        if not step.has_preempted:
            self._schedule_waiting(step)
        output = self._output_of(step)
        self._update_after_schedule(step)
        return output

    def _schedule_running(self, step: Step) -> None:
        """Let running requests go on in their order; others are preempted where blocks lack."""
        longest = self.scheduler_config.max_model_len
        index = 0
        while index < len(self.running) and step.budget > 0:
            request = self.running[index]
            ahead = request.num_output_placeholders
            num_new_tokens = min(
                step.limit(request.num_tokens + ahead - request.num_computed_tokens),
                longest - request.num_computed_tokens - 1,
            )
            if self._aligned and num_new_tokens > 0:
                num_new_tokens = self._split(request, request.num_computed_tokens, num_new_tokens)
            if num_new_tokens < 1 or (ahead and last_step_in_flight(request)):
                index += 1
                continue
            while (
                new_blocks := self.kv_cache_manager.allocate_slots(request, num_new_tokens)
            ) is None:
                place = self._victim()
                if not self.remote.can_be_freed(self.running[place]):
                    return
                victim = self.running.pop(place)
                step.strike(victim)
                self._preempt_request(victim)
                if victim is request:
                    break
                index -= place < index
            else:
                ids = new_blocks.get_block_ids() if any(new_blocks.blocks) else None
                step.add(request, num_new_tokens, ids)
                step.running.append(request)
                index += 1

    def _victim(self) -> int:
        """The place in ``running`` of the request that makes room: the last, or least urgent."""
        if not self._by_priority:
            return len(self.running) - 1
        urgency = [(request.priority, request.arrival_time) for request in self.running]
        return urgency.index(max(urgency))

    @event(request_id_of, kind="preempt", queues=True)
    def _preempt_request(self, request: Request, discard_stale_output: bool = False) -> None:
        """Take all blocks of a request that has left ``running``: it will begin again."""
        self.remote.free(request)
        self.remote.filling.pop(request.request_id, None)
        begin_again(request, discard_stale_output)
        request.status = PREEMPTED
        request.num_preemptions += 1
        self.waiting.prepend_request(request)
        self.preempted_req_ids.add(request.request_id)
        self._notes.moved(request, "running", "waiting")

    def _schedule_waiting(self, step: Step) -> None:
        """Admit waiting requests in their order, up to the first for which there is no room.

        Those that hold blocks come first. Those that are passed over keep their places.
        """
        max_num_seqs = self.scheduler_config.max_num_seqs
        while step.budget > 0 and len(self.running) < max_num_seqs:
            if not (queue := self.kv_holding_waiting or self.waiting):
                break
            request = queue.peek_request()
            if request.status is LOADING and request.request_id in self.remote.arrived:
                self.remote.promote(request)
            is_stale = request.num_stale_output_tokens > 0 and not request.discard_stale_output
            if request.status is LOADING or is_stale:
                step.passed_over.append(queue.pop_request())
                continue
            admit = self._admit if request.status is WAITING else self._resume
            if not admit(request, queue, step):
                break
        holds = self.remote.holds_blocks
        self.kv_holding_waiting.prepend_requests(filter(holds, step.passed_over))
        self.waiting.prepend_requests(filterfalse(holds, step.passed_over))

    @event(request_id_of, kind="admit", queues=True, if_changed=True)
    def _admit(self, request: Request, queue: RequestQueue, step: Step) -> bool:
        return self._start(request, queue, step, step.new)

    @event(request_id_of, kind="resume", queues=True, if_changed=True)
    def _resume(self, request: Request, queue: RequestQueue, step: Step) -> bool:
        return self._start(request, queue, step, step.resumed)

    def _start(
        self, request: Request, queue: RequestQueue, step: Step, started: list[Request]
    ) -> bool:
        """Let the request at the head of a queue run, or load; False if there is no room for it."""
        if (found := self._find(request)) is None:
            step.passed_over.append(queue.pop_request())
            self._notes.decided("defer", request)
            return True
        num_new_tokens = 0 if found.must_wait else self._num_first_tokens(request, step, found)
        if not num_new_tokens and not found.must_wait:
            return False
        if not self._allocate(request, num_new_tokens, found):
            return False
        source = "waiting" if queue is self.waiting else HOLDING
        queue.pop_request()
        request.num_computed_tokens = found.num_computed
        if found.must_wait:
            request.status = LOADING
            self.kv_holding_waiting.add_request(request)
            self._notes.moved(request, source, HOLDING)
            self._notes.decided("load", request)
            return True
        self.running.append(request)
        started.append(request)
        request.status = RUNNING
        step.add(request, num_new_tokens, self.kv_cache_manager.get_block_ids(request.request_id))
        self._notes.moved(request, source, "running")
        return True

    def _allocate(self, request: Request, num_new_tokens: int, found: Found) -> bool:
        """Begin a request's tables with what was found and its first tokens; False without room."""
        manager = self.kv_cache_manager
        new_blocks = manager.allocate_slots(
            request,
            num_new_tokens,
            found.num_hits,
            found.hits,
            num_external_computed_tokens=found.num_external,
            delay_cache_blocks=found.must_wait,
            full_sequence_must_fit=self.scheduler_config.scheduler_reserve_full_isl,
            reserved_blocks=self.remote.reserved_blocks() if found.must_wait else 0,
            has_scheduled_reqs=bool(self.running),
        )
        if new_blocks is None:
            return False
        if found.hits and manager.enable_caching and not request.skip_reading_prefix_cache:
            was_preempted = request.status is PREEMPTED
            manager.prefix_cache_stats.record(request.num_tokens, found.num_hits, was_preempted)
        if self.connector:
            table = manager.get_blocks(request.request_id).blocks[0]
            self.connector.update_state_after_alloc(request, table, found.num_external)
            if found.num_computed + num_new_tokens < request.num_tokens or found.must_wait:
                self.remote.filling[request.request_id] = request
        return True

    def _find(self, request: Request) -> Found | None:
        """Look a request up in both tiers; None if it must ask again in the next step."""
        if request.num_computed_tokens:  # it was loaded
            return Found(None, 0, request.num_computed_tokens)
        hits, num_hits, boundary = self.kv_cache_manager.get_computed_blocks(request)
        request.shared_prefix_boundary = boundary
        if not self.connector:
            return Found(hits, num_hits, num_hits)
        more, must_wait = self.connector.get_num_new_matched_tokens(request, num_hits)
        if more is None:
            return None
        return Found(hits, num_hits, num_hits + more, more, must_wait)

    def _num_first_tokens(self, request: Request, step: Step, found: Found) -> int:
        """How many tokens a request computes in its first step; 0 if this cannot be."""
        may_be_cut = self.scheduler_config.enable_chunked_prefill
        num_new_tokens = step.limit(request.num_tokens - found.num_computed, may_be_cut)
        if self._aligned and num_new_tokens:
            num_new_tokens = self._split(request, found.num_hits, num_new_tokens)
        return num_new_tokens

    def _split(self, request: Request, num_computed_tokens: int, num_new_tokens: int) -> int:
        """How many of these tokens to compute so that the step ends where a state can be kept."""
        max_chunk = self.scheduler_config.max_chunk
        return mamba_block_aligned_split(
            self._aligned, request, num_computed_tokens, num_new_tokens, max_chunk
        )

    @event(kind="schedule", queues=True)
    def _output_of(self, step: Step) -> SchedulerOutput:
        output = step.output(self.preempted_req_ids, self.finished_req_ids)
        self.preempted_req_ids, self.finished_req_ids = set(), set()
        if self.connector:
            output.kv_connector_metadata = self.connector.build_connector_meta(output)
        self._notes.scheduled(step)
        return output

    def _update_after_schedule(self, step: Step) -> None:
        """Take the scheduled tokens as computed, so that the next step can be scheduled at once."""
        is_async = self.scheduler_config.async_scheduling
        for request_id, num_tokens in step.num_tokens.items():
            take_as_computed(self.requests[request_id], num_tokens, is_async)
        if self.connector and step.num_tokens:
            self.remote.scheduled(self.requests[name] for name in step.num_tokens)

    # -- what a step sampled ---------------------------------------------------------------------

    @explained
    def update_from_output(
        self,
        scheduler_output: SchedulerOutput,
        model_runner_output: Mapping[Name, Sequence[int]] | ModelRunnerOutput,
    ) -> dict[int, EngineCoreOutputs]:
        """Add the tokens that a step sampled, by request; complete requests end here.

        With a second tier, a `ModelRunnerOutput` also says which copies have ended. Returns the
        outputs by client; the only client is 0, and the dict is empty if there are no outputs. As
        in vLLM, it is not checked that the output belongs to a step in flight, as long as there are
        slots for its tokens.
        """
        if scheduler_output not in self._in_flight:
            check_made_by_hand(scheduler_output)
        report, sampled = NO_COPIES, model_runner_output
        if isinstance(sampled, ModelRunnerOutput):
            report, sampled = sampled, sampled.sampled_token_ids
        check_sampled(scheduler_output, sampled, self.requests, self.scheduler_config)
        check_reported(report, self.connector, self.requests)
        self.journal.resume(self._in_flight.pop(scheduler_output, None))
        if self.connector and scheduler_output.num_scheduled_tokens:
            self.remote.processed()
        failed = self.remote.fail(self.kv_holding_waiting, report.invalid)
        is_idle = self.connector and not scheduler_output.num_scheduled_tokens
        outputs, finished = ([], []) if is_idle else self._add_sampled(scheduler_output, sampled)
        for request in finished:
            self._finish(request)
        for request in failed:
            self._abort(request, RequestStatus.FINISHED_ERROR)
            outputs.append(EngineCoreOutput(request.request_id, [], request.get_finished_reason()))
        self._remove_finished(finished + failed)
        if self.connector:
            self.connector.update_connector_output(report.completed)
        for request_id in report.received:
            self.remote.receive(self.requests[request_id])
            if self.requests[request_id].is_finished():
                del self.requests[request_id]
        if self.connector or self.kv_cache_manager.block_pool.enable_kv_cache_events:
            self._publish_events()
        return {0: EngineCoreOutputs(outputs)} if outputs else {}

    def _publish_events(self) -> None:
        """Tell routers what has changed, if there is anything."""
        events = self.kv_cache_manager.take_events()
        if self.connector:
            events += self.connector.take_events()
        if events:
            self.publish(events)

    @event(kind="update_from_output", queues=True)
    def _add_sampled(
        self, scheduler_output: SchedulerOutput, sampled: Mapping[Name, Sequence[int]]
    ) -> tuple[list[EngineCoreOutput], list[Request]]:
        """Add the tokens of a step; returns what is answered, and the requests that end."""
        outputs, finished = [], []
        for request_id, num_tokens in scheduler_output.num_scheduled_tokens.items():
            request = self.requests.get(request_id)
            if request is None:
                continue
            new = self._update_request(request, num_tokens, sampled.get(request_id, ()))
            if request.is_finished():
                finished.append(request)
            if new:
                outputs.append(EngineCoreOutput(request_id, new, request.get_finished_reason()))
                if self.journal.active:
                    self.kv_cache_manager.note_known(request)
        return outputs, finished

    def _update_request(
        self, request: Request, num_scheduled: int, sampled: Sequence[int]
    ) -> list[int]:
        """Add what a step of ``num_scheduled`` tokens has sampled; returns what was added."""
        is_stale = come_back(request, num_scheduled)
        if is_stale and request.discard_stale_output:
            return []
        was_running, ahead = request.status is RUNNING, request.num_output_placeholders
        new = append_until_stop(request, sampled, self.scheduler_config.max_model_len)
        if new and ahead and not is_stale:
            request.num_output_placeholders -= len(new)
            if was_running:
                # When its slot was allocated, the token was not known, and its block not full.
                computed = request.num_computed_tokens - request.num_in_flight_tokens
                self.kv_cache_manager.cache_blocks(request, computed)
        return new

    # -- the rest --------------------------------------------------------------------------------

    @checked
    def reset_prefix_cache(
        self, reset_running_requests: Flag = False, reset_connector: Flag = False
    ) -> bool:
        """Forget all cached content, which is possible only while no block is owned.

        ``reset_running_requests`` first preempts all running requests; RuntimeError if blocks are
        still owned after that. ``reset_connector`` makes the second tier forget as well.
        """
        if reset_running_requests:
            check_all_owned_by_running(self.running, self.kv_cache_manager, self.remote)
            while self.running:
                self._preempt_request(self.running.pop(), discard_stale_output=True)
        is_reset = self.kv_cache_manager.reset_prefix_cache()
        if reset_connector and self.connector:
            self.connector.reset_cache()
        return is_reset

    def get_request_counts(self) -> tuple[int, int]:
        """Return the numbers of running and of waiting requests."""
        return len(self.running), len(self.waiting) + len(self.kv_holding_waiting)

    def get_num_unfinished_requests(self) -> int:
        """Return the number of requests that run or wait."""
        return sum(self.get_request_counts())

    def has_requests(self) -> bool:
        """Whether there is anything left to do: the last steps may only wait for copies."""
        is_copying = self.connector and self.connector.has_pending_push_work()
        return bool(self.requests or self.finished_req_ids or is_copying)

    def state(self) -> State:
        """Return the present state of queues, tables and pool."""
        state = self.kv_cache_manager.state()
        if self.connector:
            state = self.connector.state(state)
        return with_queues(state, self._notes.queues(self.running))
