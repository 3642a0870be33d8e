"""The scheduler: how many tokens each request computes in the next step.

There are no phases. Each request has tokens that are not computed yet, and catches up with them as
far as the budget and the blocks allow, whether they are of its prompt or sampled.

Source: vLLM 0.33.0, ``vllm/v1/core/sched/scheduler.py`` and ``async_scheduler.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pagesim.checks import check_a, check_bool, check_new_request, explained
from pagesim.errors import UsageError
from pagesim.journal import event
from pagesim.journal.effects import BACK, PROMPT, QUEUE, SCHEDULED, Name
from pagesim.journal.state import State, table_name
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.engine import EngineCoreOutput, EngineCoreOutputs
from pagesim.v1.kv_cache_manager import KVCacheManager, request_id_of
from pagesim.v1.kv_cache_metrics import KVCacheMetricsCollector
from pagesim.v1.kv_events import KVCacheEvent
from pagesim.v1.mamba_manager import AlignedMambaManager, mamba_block_aligned_split
from pagesim.v1.offload.config import OffloadingConfig
from pagesim.v1.offload.connector import OffloadingConnector
from pagesim.v1.offload.remote import LOADING, ModelRunnerOutput, RemoteKVs
from pagesim.v1.output import SchedulerOutput
from pagesim.v1.request import (
    Request,
    RequestStatus,
    check_block_size,
    check_stop,
    check_tokens,
)
from pagesim.v1.request_queue import FCFSRequestQueue, PriorityRequestQueue, RequestQueue
from pagesim.v1.scheduler_guards import (
    check_all_owned_by_running,
    check_made_by_hand,
    check_reported,
    check_sampled,
)
from pagesim.v1.state import with_queues
from pagesim.v1.step import Found, Step

WAITING, RUNNING = RequestStatus.WAITING, RequestStatus.RUNNING
PREEMPTED = RequestStatus.PREEMPTED
HOLDING = "kv_holding_waiting"


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
        steps_in_flight = 2 if scheduler_config.async_scheduling else 1
        self.kv_cache_manager = KVCacheManager(
            cache_config.num_gpu_blocks,
            cache_config.block_size,
            scheduler_config.max_model_len,
            cache_config.enable_prefix_caching,
            cache_config.sliding_window,
            scheduler_config.watermark,
            steps_in_flight * scheduler_config.max_num_batched_tokens,
            cache_config.retention_interval,
            groups=cache_config.groups,
            hash_block_size=cache_config.hash_block_size,
            enable_kv_cache_events=cache_config.enable_kv_cache_events
            or (offloading_config is not None and offloading_config.enable_kv_cache_events),
            metrics_collector=metrics_collector,
        )
        self.publish: Callable[[list[KVCacheEvent]], object] = lambda events: None
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
        recomputes = offloading_config and offloading_config.kv_load_failure_policy == "recompute"
        self.remote = RemoteKVs(scheduler_config, self.kv_cache_manager, bool(recomputes))

    # -- requests come and go --------------------------------------------------------------------

    @event(request_id_of, kind="arrive", called="add_request", queues=True)
    def add_request(self, request: Request) -> None:
        """Add a new request to the waiting queue. UsageError names what is wrong with it.

        A prompt of more than ``max_model_len`` tokens is computed up to that length. vLLM's
        scheduler does the same, but its engine refuses such a prompt before.
        """
        name = f"request {request.request_id!r}"
        if request.request_id in self.requests:
            raise UsageError(f"the scheduler already has {name}: give each request a unique id")
        check_new_request(name, request.status, WAITING, request.num_tokens)
        check_block_size(request, self.kv_cache_manager.block_pool.hash_block_size)
        check_tokens(f"the tokens of {name}", request.all_token_ids)
        if self.connector:
            self.connector.on_new_request(request)
        self.requests[request.request_id] = request
        self.waiting.add_request(request)
        self._note_move(request, None, "waiting")
        self.journal.note((PROMPT, request.request_id, request.num_prompt_tokens))

    @explained
    def finish_requests(
        self, request_ids: Name | Iterable[Name], finished_status: RequestStatus
    ) -> list[Request]:
        """End requests from outside and return them; unknown ids are ignored."""
        if not (isinstance(finished_status, RequestStatus) and finished_status > PREEMPTED):
            raise UsageError(f"finished_status must be a finished one, not {finished_status!r}")
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
        self._end_request(request)
        if not is_loading:
            self._free_request(request)

    @event(request_id_of, kind="finish", queues=True)
    def _finish(self, request: Request) -> None:
        self._end_request(request)
        self._free_request(request)

    def _end_request(self, request: Request) -> None:
        """A request is finished; workers hear of it in the next step."""
        self.finished_req_ids.add(request.request_id)
        if self.connector:
            self.remote.filling.pop(request.request_id, None)
            self.connector.request_finished(request)
        if self.journal.active:
            self._note_move(request, self._queue_of(request), None)

    def _free_request(self, request: Request) -> None:
        """A finished request gives its blocks back, at once unless they are being loaded."""
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
        config, count = self.scheduler_config, self.get_num_unfinished_requests()
        budget, threshold = config.max_num_batched_tokens, config.long_prefill_token_threshold
        if threshold and config.long_prefill_token_threshold_adaptive:
            threshold = max(threshold, budget // max(count, 1))
        self.kv_cache_manager.new_step_starts()
        step = Step(budget, threshold if count > 1 else 0)
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
            if num_new_tokens < 1 or (ahead and self._last_step_in_flight(request)):
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

    def _last_step_in_flight(self, request: Request) -> bool:
        """Whether the steps in flight sample all that the request may still generate."""
        sampled = request.num_computed_tokens + 2 - request.num_output_placeholders
        return sampled >= request.num_prompt_tokens + request.max_tokens

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
        stale = request.num_stale_output_tokens > 0 and request.discard_stale_output
        request.discard_stale_output = discard_stale_output or stale
        request.num_stale_output_tokens = request.num_in_flight_tokens
        request.num_output_placeholders = 0
        request.status = PREEMPTED
        request.num_computed_tokens = 0
        request.num_preemptions += 1
        self.waiting.prepend_request(request)
        self.preempted_req_ids.add(request.request_id)
        self._note_move(request, "running", "waiting")

    def _schedule_waiting(self, step: Step) -> None:
        """Admit waiting requests in their order, up to the first for which there is no room.

        Those that hold blocks come first.
        """
        max_num_seqs = self.scheduler_config.max_num_seqs
        while step.budget > 0 and len(self.running) < max_num_seqs:
            if not (queue := self.kv_holding_waiting or self.waiting):
                break
            request = queue.peek_request()
            is_ready = request.status is not LOADING or self._promote(request)
            if not is_ready or (
                request.num_stale_output_tokens > 0 and not request.discard_stale_output
            ):
                step.passed_over.append(queue.pop_request())
                continue
            admit = self._admit if request.status is WAITING else self._resume
            if not admit(request, queue, step):
                break
        self._put_back(step.passed_over)

    def _put_back(self, passed_over: list[Request]) -> None:
        """Requests that were passed over are again the first of those that wait."""
        if not self.connector:
            self.waiting.prepend_requests(passed_over)
            return
        holding: list[Request] = []
        others: list[Request] = []
        for request in passed_over:
            holds = request.status is LOADING or request.num_computed_tokens > 0
            (holding if holds else others).append(request)
        self.kv_holding_waiting.prepend_requests(holding)
        self.waiting.prepend_requests(others)

    @event(request_id_of, kind="promote", queues=True, if_changed=True)
    def _promote(self, request: Request) -> bool:
        if is_ready := self.remote.promote(request):
            self._decided("promote", request)
        return is_ready

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
        manager = self.kv_cache_manager
        if (found := self._find(request)) is None:
            step.passed_over.append(queue.pop_request())
            self._decided("defer", request)
            return True
        num_new_tokens = 0 if found.must_wait else self._num_first_tokens(request, step, found)
        if not num_new_tokens and not found.must_wait:
            return False
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
        source = "waiting" if queue is self.waiting else HOLDING
        queue.pop_request()
        request.num_computed_tokens = found.num_computed
        if found.must_wait:
            request.status = LOADING
            self.kv_holding_waiting.add_request(request)
            self._note_move(request, source, HOLDING)
            self._decided("load", request)
            return True
        self.running.append(request)
        started.append(request)
        request.status = RUNNING
        step.add(request, num_new_tokens, manager.get_block_ids(request.request_id))
        self._note_move(request, source, "running")
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
        num_new_tokens = request.num_tokens - found.num_computed
        if 0 < step.threshold < num_new_tokens:
            num_new_tokens = step.threshold
        if num_new_tokens > step.budget:
            num_new_tokens = step.budget if self.scheduler_config.enable_chunked_prefill else 0
        if self._aligned and num_new_tokens:
            num_new_tokens = self._split(request, found.num_hits, num_new_tokens)
        return num_new_tokens

    def _split(self, request: Request, num_computed_tokens: int, num_new_tokens: int) -> int:
        """How many of these tokens to compute so that the step ends where a state can be kept."""
        config = self.scheduler_config
        longest = config.max_num_batched_tokens
        max_chunk = min(longest, config.long_prefill_token_threshold or longest)
        return mamba_block_aligned_split(
            self._aligned, request, num_computed_tokens, num_new_tokens, max_chunk
        )

    @event(kind="schedule", queues=True)
    def _output_of(self, step: Step) -> SchedulerOutput:
        output = step.output(self.preempted_req_ids, self.finished_req_ids)
        self.preempted_req_ids, self.finished_req_ids = set(), set()
        if self.connector:
            output.kv_connector_metadata = self.connector.build_connector_meta(output)
        if self.journal.active:
            self._note_scheduled(step)
        return output

    def _update_after_schedule(self, step: Step) -> None:
        """Take the scheduled tokens as computed, so that the next step can be scheduled at once."""
        is_async = self.scheduler_config.async_scheduling
        for request_id, num_tokens in step.num_tokens.items():
            request = self.requests[request_id]
            request.num_computed_tokens += num_tokens
            request.num_in_flight_tokens += num_tokens
            request.is_prefill_chunk = request.num_computed_tokens < (
                request.num_tokens + request.num_output_placeholders
            )
            if is_async and not request.is_prefill_chunk:
                request.num_output_placeholders += 1
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
        report, sampled = None, model_runner_output
        if isinstance(sampled, ModelRunnerOutput):
            report, sampled = sampled, sampled.sampled_token_ids
        check_sampled(scheduler_output, sampled, self.requests, self.scheduler_config)
        if report is not None:
            check_reported(report, self.connector, self.requests)
        self.journal.resume(self._in_flight.pop(scheduler_output, None))
        if self.connector and scheduler_output.num_scheduled_tokens:
            self.remote.processed()
        failed: list[Request] = []
        if report is not None and report.invalid:
            failed = self.remote.fail(self.kv_holding_waiting, report.invalid)
        outputs: list[EngineCoreOutput] = []
        finished: list[Request] = []
        if scheduler_output.num_scheduled_tokens or not self.connector:
            outputs, finished = self._add_sampled(scheduler_output, sampled)
        for request in finished:
            self._finish(request)
        for request in failed:
            self._abort(request, RequestStatus.FINISHED_ERROR)
            outputs.append(EngineCoreOutput(request.request_id, [], request.get_finished_reason()))
        if finished or failed:
            self._remove_finished(finished + failed)
        if self.connector and report is not None:
            self._update_copies(self.connector, report)
        if self.kv_cache_manager.block_pool.enable_kv_cache_events or self.connector:
            self._publish_events()
        return {0: EngineCoreOutputs(outputs)} if outputs else {}

    def _update_copies(self, connector: OffloadingConnector, report: ModelRunnerOutput) -> None:
        """Workers report copies that have ended."""
        connector.update_connector_output(report.completed)
        for request_id in report.received:
            self._receive(self.requests[request_id])

    def _publish_events(self) -> None:
        """Tell routers what has changed, if there is anything."""
        events = self.kv_cache_manager.take_events()
        if self.connector:
            events += self.connector.take_events()
        if events:
            self.publish(events)

    @event(request_id_of, kind="receive", queues=True)
    def _receive(self, request: Request) -> None:
        """The load of a request has ended."""
        if request.is_finished():
            self._free_request(request)
        else:
            self.kv_cache_manager.note_loaded(request)
            self.remote.arrived.add(request.request_id)

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
        request.num_in_flight_tokens -= num_scheduled
        is_stale = request.num_stale_output_tokens > 0
        if is_stale:
            request.num_stale_output_tokens -= num_scheduled
            if request.discard_stale_output:
                return []
        was_running, ahead = request.status is RUNNING, request.num_output_placeholders
        new: list[int] = []
        for token in sampled:
            request.append_output_token_ids(token)
            new.append(token)
            if check_stop(request, token, self.scheduler_config.max_model_len):
                break
        if new and ahead and not is_stale:
            request.num_output_placeholders -= len(new)
            if was_running:
                # When its slot was allocated, the token was not known, and its block not full.
                computed = request.num_computed_tokens - request.num_in_flight_tokens
                self.kv_cache_manager.cache_blocks(request, computed)
        return new

    # -- the rest --------------------------------------------------------------------------------

    def reset_prefix_cache(
        self, reset_running_requests: bool = False, reset_connector: bool = False
    ) -> bool:
        """Forget all cached content, which is possible only while no block is owned.

        ``reset_running_requests`` first preempts all running requests; RuntimeError if blocks are
        still owned after that. ``reset_connector`` makes the second tier forget as well.
        """
        check_bool("reset_running_requests", reset_running_requests)
        check_bool("reset_connector", reset_connector)
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

    # -- what a recording is told ----------------------------------------------------------------

    def state(self) -> State:
        """Return the present state of queues, tables and pool."""
        queues: dict[str, Iterable[Request]] = {"waiting": self.waiting, "running": self.running}
        state = self.kv_cache_manager.state()
        if self.connector:
            queues[HOLDING] = self.kv_holding_waiting
            state = self.connector.state(state)
        return with_queues(state, queues)

    def _decided(self, kind: str, request: Request) -> None:
        """What was done for a request so far is an event of this kind."""
        if self.journal.recording:
            self.journal.close(kind, request.request_id)

    def _note_move(self, request: Request, source: str | None, target: str | None) -> None:
        if self.journal.active:
            place = BACK if target != "waiting" else list(self.waiting).index(request)
            self.journal.move(self._as_queued(request.request_id), source, target, place)

    def _queue_of(self, request: Request) -> str:
        """The queue in which a request is."""
        if request in self.running:
            return "running"
        return HOLDING if request in self.kv_holding_waiting else "waiting"

    def _as_queued(self, request_id: Name) -> tuple[Name, Name]:
        """A request, and its first table: of the same name if there is only one group."""
        is_one = len(self.kv_cache_manager.kv_cache_groups) == 1
        return request_id, request_id if is_one else table_name(request_id, 0)

    def _note_scheduled(self, step: Step) -> None:
        decoding = {
            request.request_id
            for request in step.running
            if request.num_computed_tokens + 1
            == request.num_tokens + request.num_output_placeholders
        }
        for name, num_tokens in step.num_tokens.items():
            what = *self._as_queued(name), num_tokens, name not in decoding
            self.journal.note((SCHEDULED, *what))
        if self.connector:  # requests that were passed over are back in their places
            for queue, requests in ((HOLDING, self.kv_holding_waiting), ("waiting", self.waiting)):
                order = [self._as_queued(request.request_id) for request in requests]
                self.journal.note((QUEUE, queue, order))
