"""Steps in flight: what they sample for a request preempted meanwhile, and the room they need."""

import pytest

from pagesim.story import Engine
from pagesim.v1 import Request, RequestStatus
from tests.v1.scenes import serving
from tests.v1.world import check


def test_a_request_with_stale_output_is_passed_over_and_keeps_its_place() -> None:
    """After three steps without an output, b is preempted and waits for the output of two."""
    scheduler = serving(6, a=range(8), b=range(50, 57))
    for _ in range(3):
        scheduler.schedule()
    b = scheduler.requests["b"]
    assert b.status is RequestStatus.PREEMPTED and b.num_stale_output_tokens == 8
    scheduler.finish_requests("a", RequestStatus.FINISHED_ABORTED)
    for name in ("c", "d", "e"):
        scheduler.add_request(Request(name, range(3), block_size=4))
    assert list(scheduler.schedule().num_scheduled_tokens) == ["c", "d"]
    assert [request.request_id for request in scheduler.waiting] == ["b", "e"]
    check(scheduler.kv_cache_manager)


def test_after_a_reset_its_stale_output_is_discarded_and_it_may_come_back_before() -> None:
    scheduler = serving(8, b=range(50, 57))
    b = scheduler.requests["b"]
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
    scheduler = serving(9, a=range(7))
    a = scheduler.requests["a"]
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
    engine.add("a", 6)
    assert engine.steps(4) == [{"a": 6}, {"a": 1}, {}, {}]
    assert engine.requests["a"].num_tokens == 8 and engine.requests["a"].is_finished()


def test_once_discarded_output_is_drained_the_next_stale_output_counts_again() -> None:
    scheduler = serving(8, b=range(50, 57))
    b = scheduler.requests["b"]
    output = scheduler.schedule()
    assert scheduler.reset_prefix_cache(reset_running_requests=True)
    scheduler.update_from_output(output, {"b": [7]})
    assert (b.num_stale_output_tokens, b.num_tokens) == (0, 7)
    output = scheduler.schedule()
    scheduler._preempt_request(scheduler.running.pop())
    scheduler.update_from_output(output, {"b": [7]})
    assert b.num_tokens == 8


@pytest.mark.parametrize("is_async", [False, True])
def test_a_window_needs_room_for_every_step_in_flight(is_async: bool) -> None:
    """Of 8 tokens and 8 a step, it is 5 blocks for one step in flight, and 7 for two; 6 are free.

    The blocks behind the window are free only when the output of the step is known.
    """
    limits = {"max_num_batched_tokens": 8, "async_scheduling": is_async}
    engine = Engine("v1", gpu_blocks=7, sliding_window=8, **limits)
    engine.add("a", 40)
    assert engine.step() == ({} if is_async else {"a": 8})
