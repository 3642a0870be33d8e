"""Steps in flight: a preempted request whose output from before is still to come."""

from pagesim.v1 import CacheConfig, Request, RequestStatus, Scheduler, SchedulerConfig
from tests.v1.scenes import Engine, text
from tests.v1.world import check


def preempted_in_flight() -> tuple[Scheduler, list[object]]:
    """After three steps without an output, b is preempted and waits for the output of two."""
    scheduler = Scheduler(SchedulerConfig(32, 2, 64, async_scheduling=True), CacheConfig(4, 6))
    scheduler.add_request(Request("a", range(8), block_size=4))
    scheduler.add_request(Request("b", range(50, 57), block_size=4))
    outputs: list[object] = [scheduler.schedule() for _ in range(3)]
    b = scheduler.requests["b"]
    assert b.status is RequestStatus.PREEMPTED and b.num_stale_output_tokens == 8
    return scheduler, outputs


def test_a_request_with_stale_output_is_passed_over_and_keeps_its_place() -> None:
    scheduler, _ = preempted_in_flight()
    scheduler.finish_requests("a", RequestStatus.FINISHED_ABORTED)
    for name in ("c", "d", "e"):
        scheduler.add_request(Request(name, range(3), block_size=4))
    assert list(scheduler.schedule().num_scheduled_tokens) == ["c", "d"]
    assert [request.request_id for request in scheduler.waiting] == ["b", "e"]
    check(scheduler.kv_cache_manager)


def test_after_a_reset_its_stale_output_is_discarded_and_it_may_come_back_before() -> None:
    scheduler = Scheduler(SchedulerConfig(32, 2, 64, async_scheduling=True), CacheConfig(4, 8))
    b = Request("b", range(50, 57), block_size=4)
    scheduler.add_request(b)
    outputs = [scheduler.schedule(), scheduler.schedule()]
    assert scheduler.reset_prefix_cache(reset_running_requests=True)
    assert (b.num_stale_output_tokens, b.discard_stale_output) == (8, True)
    outputs.append(scheduler.schedule())
    assert outputs[-1].num_scheduled_tokens == {"b": 7}
    scheduler._preempt_request(scheduler.running.pop())  # it is still true of what was in flight
    assert (b.num_stale_output_tokens, b.discard_stale_output) == (15, True)
    for output in outputs:
        assert scheduler.update_from_output(output, {"b": [7]}) == {}
    assert b.num_tokens == 7 and b.num_stale_output_tokens == 0


def test_a_step_that_sampled_nothing_caches_nothing() -> None:
    """A block is findable with the next token, even if its own are known and computed by then."""
    scheduler = Scheduler(SchedulerConfig(32, 2, 64, async_scheduling=True), CacheConfig(4, 9))
    a = Request("a", range(7), block_size=4)
    scheduler.add_request(a)
    outputs = [scheduler.schedule(), scheduler.schedule(), scheduler.schedule()]
    cached = scheduler.kv_cache_manager.coordinator.single_type_managers[0].num_cached_block
    scheduler.update_from_output(outputs[0], {"a": [7]})
    assert (len(a.block_hashes), cached["a"]) == (2, 1)
    scheduler.update_from_output(outputs[1], {})
    assert cached["a"] == 1
    scheduler.update_from_output(outputs[2], {"a": [8]})
    assert cached["a"] == 2


def test_the_model_s_length_is_foreseen_as_the_request_s_is() -> None:
    engine = Engine(async_scheduling=True, max_model_len=8)
    engine.add("a", text(6))
    assert engine.steps(4) == [{"a": 6}, {"a": 1}, {}, {}]
    assert engine.requests["a"].num_tokens == 8 and engine.requests["a"].is_finished()


def test_once_discarded_output_is_drained_the_next_stale_output_counts_again() -> None:
    scheduler = Scheduler(SchedulerConfig(32, 2, 64, async_scheduling=True), CacheConfig(4, 8))
    b = Request("b", range(50, 57), block_size=4)
    scheduler.add_request(b)
    output = scheduler.schedule()
    assert scheduler.reset_prefix_cache(reset_running_requests=True)
    scheduler.update_from_output(output, {"b": [7]})
    assert (b.num_stale_output_tokens, b.num_tokens) == (0, 7)
    output = scheduler.schedule()
    scheduler._preempt_request(scheduler.running.pop())
    scheduler.update_from_output(output, {"b": [7]})
    assert b.num_tokens == 8
