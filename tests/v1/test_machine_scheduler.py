"""Any workload keeps a scheduler consistent, synchronous or not, and no step computes too much."""

import os
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pagesim.v1 import (
    CacheConfig,
    Request,
    RequestStatus,
    Scheduler,
    SchedulerConfig,
    SchedulerOutput,
)
from tests.v1.world import Memory, check

SIZE, BLOCKS, LONGEST, BUDGET, SEATS = 2, 14, 40, 10, 4
EXAMPLES = int(os.environ.get("PAGESIM_V1_EXAMPLES", "7"))
TOKENS = st.lists(st.sampled_from([1, 2]), min_size=1, max_size=14)
SETTINGS = settings(max_examples=EXAMPLES, derandomize=True)


class Engine(RuleBasedStateMachine):
    """An engine that samples 1 or 2; asynchronously, two steps are in flight."""

    options: ClassVar[dict[str, Any]] = {}
    cache: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.budget = BUDGET if self.options.get("enable_chunked_prefill", True) else LONGEST
        config = SchedulerConfig(self.budget, SEATS, LONGEST, **self.options)
        self.scheduler = Scheduler(config, CacheConfig(SIZE, BLOCKS, **self.cache))
        self.manager = self.scheduler.kv_cache_manager
        self.memory = Memory(BLOCKS, SIZE)
        self.requests: dict[str, Request] = {}
        self.tables: dict[str, list[int]] = {}
        self.in_flight: list[tuple[SchedulerOutput, list[str]]] = []

    def too_many_in_flight(self) -> bool:
        return len(self.in_flight) > (1 if self.scheduler.scheduler_config.async_scheduling else 0)

    @rule(tokens=TOKENS, count=st.integers(1, 8), urgent=st.integers(0, 2), stop=st.booleans())
    def add(self, tokens: list[int], count: int, urgent: int, stop: bool) -> None:
        name = f"r{len(self.requests)}"
        its = self.requests[name] = Request(
            name,
            tokens,
            block_size=SIZE,
            max_tokens=count,
            priority=urgent,
            arrival_time=float(len(self.requests)),
            stop_token_ids=[2] if stop else [],
        )
        self.scheduler.add_request(its)

    @precondition(lambda self: not self.too_many_in_flight())
    @rule()
    def schedule(self) -> None:
        output = self.scheduler.schedule()
        tokens = output.num_scheduled_tokens
        assert sum(tokens.values()) == output.total_num_scheduled_tokens <= self.budget
        assert all(count > 0 for count in tokens.values())
        assert len(self.scheduler.running) <= SEATS
        self.follow(output)
        samples = [name for name in tokens if not self.requests[name].is_prefill_chunk]
        self.in_flight.append((output, samples))

    def follow(self, output: SchedulerOutput) -> None:
        """What a worker knows of the tables, from what it is told."""
        for name in (*output.finished_req_ids, *output.preempted_req_ids):
            self.tables.pop(name, None)
        known = output.scheduled_cached_reqs
        starts = dict(zip(known.req_ids, known.num_computed_tokens, strict=True))
        for new in output.scheduled_new_reqs:
            self.tables[new.req_id], starts[new.req_id] = new.block_ids[0], new.num_computed_tokens
        for name, ids in zip(known.req_ids, known.new_block_ids, strict=True):
            if name in known.resumed_req_ids:
                assert ids is not None
                self.tables[name] = ids[0]
            else:
                self.tables[name] += ids[0] if ids else []
        for name, count in output.num_scheduled_tokens.items():
            its, table = self.requests[name], self.manager.get_block_ids(name)[0]
            pairs = zip(self.tables[name], table, strict=True)
            assert all(b in (a, 0) for a, b in pairs), "a worker's table only lags behind a window"
            self.memory.compute(table, its.all_token_ids, starts[name], starts[name] + count)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        output, samples = self.in_flight.pop(0)
        token = data.draw(st.sampled_from([1, 1, 1, 2]))
        before = {name: self.requests[name].num_tokens for name in samples}
        answer = self.scheduler.update_from_output(output, {name: [token] for name in samples})
        for each in answer[0].outputs if answer else ():
            its = self.requests[each.request_id]
            assert its.num_tokens == before[each.request_id] + 1
            assert (each.finish_reason is not None) == its.is_finished()
            self.known(its)

    def known(self, its: Request) -> None:
        """A token that was computed before it was known is known now: its slot holds it."""
        table, at = self.manager.get_block_ids(its.request_id)[0], its.num_tokens - 1
        if at < its.num_computed_tokens and at // SIZE < len(table):
            self.memory.compute(table, its.all_token_ids, at, at + 1)

    @rule(pick=st.integers(0, 9))
    def abort(self, pick: int) -> None:
        names = list(self.scheduler.requests)
        if names and pick < len(names):
            ended = self.scheduler.finish_requests(names[pick], RequestStatus.FINISHED_ABORTED)
            assert [each.request_id for each in ended] == [names[pick]]

    @invariant()
    def it_is_consistent(self) -> None:
        check(self.manager)
        running, waiting = self.scheduler.running, list(self.scheduler.waiting)
        names = [each.request_id for each in (*running, *waiting)]
        assert sorted(names) == sorted(self.scheduler.requests)
        assert all(each.status is RequestStatus.RUNNING for each in running)
        idle = (RequestStatus.WAITING, RequestStatus.PREEMPTED)
        assert all(each.status in idle for each in waiting)
        assert set(self.manager.single_type_manager.req_to_blocks) <= {
            each.request_id for each in running
        }

    @invariant()
    def what_is_computed_is_there(self) -> None:
        window = self.scheduler.cache_config.sliding_window
        for its in self.scheduler.running:
            table = self.manager.get_block_ids(its.request_id)[0]
            end = min(its.num_computed_tokens, its.num_tokens)
            first = 0 if window is None else max(0, end + 1 - window)
            self.memory.check(table, its.all_token_ids, first, end)

    def teardown(self) -> None:
        self.scheduler.finish_requests(
            list(self.scheduler.requests), RequestStatus.FINISHED_ABORTED
        )
        check(self.manager)
        assert self.manager.usage == 0 and not self.scheduler.get_num_unfinished_requests()


KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "default": ({}, {}),
    "without caching": ({}, {"enable_prefix_caching": False}),
    "priority": ({"policy": "priority"}, {}),
    "no chunks": ({"enable_chunked_prefill": False, "watermark": 0.2}, {}),
    "threshold": ({"long_prefill_token_threshold": 3, "scheduler_reserve_full_isl": False}, {}),
    "asynchronous": ({"async_scheduling": True}, {}),
    "asynchronous priority": ({"async_scheduling": True, "policy": "priority"}, {}),
    "window": ({}, {"sliding_window": 5, "retention_interval": None}),
    "asynchronous window": ({"async_scheduling": True}, {"sliding_window": 4}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_any_workload(kind: str) -> None:
    options, cache = KINDS[kind]
    machine = type("Engine", (Engine,), {"options": options, "cache": cache})
    run_state_machine_as_test(machine, settings=SETTINGS)
