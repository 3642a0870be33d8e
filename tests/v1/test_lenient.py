"""What looks wrong and is served, as release 0.33.0 serves it."""

from contextlib import nullcontext

import pytest

import pagesim
from pagesim.errors import UsageError
from pagesim.story import Engine
from pagesim.v1 import CachedRequestData, Request, SchedulerOutput, why_it_waits_forever
from pagesim.v1.kv_cache_manager import KVCacheManager
from pagesim.workload import Request as Asked
from tests.v1.scenes import SIZE, Cache, found, text
from tests.v1.world import check, refused

# -- an empty prompt -------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [None, 5])
def test_an_empty_prompt_finds_nothing_and_grows(window: int | None) -> None:
    cache = Cache(6, sliding_window=window)
    empty = cache.new("a", [])
    blocks, found, _ = cache.manager.get_computed_blocks(empty)
    assert (blocks.get_block_ids(), found) == (([],), 0)
    with pytest.raises(ValueError, match="at least one token"):
        cache.manager.allocate_slots(empty, 0)
    for token in range(5):
        cache.write("a", token)
    assert cache.table("a") == [1, 2] and cache.cached == [1]


def test_the_engines_refuse_an_empty_prompt() -> None:
    story = pagesim.Story(gpu_blocks=6, block_size=SIZE, engine="v1")
    with pytest.raises(UsageError):
        story.arrive([])
    assert story.manager.usage == 0 and len(story.run) == 0
    with pytest.raises(UsageError):
        Asked("a", 0.0, 0, 1)


# -- a prompt of max_model_len tokens or more ------------------------------------------------------


@pytest.mark.parametrize("length", [16, 17, 40])
def test_a_prompt_that_is_too_long_in_one_step_answers_once(length: int) -> None:
    engine = Engine("v1", max_model_len=16, max_num_batched_tokens=40, max_num_seqs=4)
    a = engine.add("a", range(length))
    assert engine.step() == {"a": length}
    assert a.is_finished() and a.num_output_tokens == 1
    manager = engine.scheduler.kv_cache_manager
    assert found(manager, text(16)) == 12  # its table had 4 blocks, as long as the model reads
    assert found(manager, text(40)) == 16 and engine.free == 11
    check(manager)


@pytest.mark.parametrize("length", [16, 17, 40])
def test_in_chunks_it_is_computed_up_to_the_limit_and_stays(length: int) -> None:
    engine = Engine("v1", max_model_len=16, max_num_batched_tokens=10, max_num_seqs=4)
    engine.add("a", length)
    assert engine.steps(3) == [{"a": 10}, {"a": 5}, {}]
    assert engine.running == ["a"] and engine.table("a") == [1, 2, 3, 4]
    assert "max_model_len (16)" in str(why_it_waits_forever(engine.scheduler, engine.requests["a"]))
    engine.add("b", 3, max_tokens=1)
    assert engine.step() == {"b": 3}
    check(engine.scheduler.kv_cache_manager)


def test_asynchronously_a_chunk_has_no_place_for_a_token() -> None:
    """Not even beyond the limit, where any token ends a request."""
    late = {"max_num_batched_tokens": 10, "max_num_seqs": 4, "async_scheduling": True}
    engine = Engine("v1", max_model_len=16, **late)
    engine.add("a", 40)
    output = engine.scheduler.schedule()
    with pytest.raises(UsageError, match="'a' samples 0 tokens"):
        engine.scheduler.update_from_output(output, {"a": [7]})
    assert engine.requests["a"].num_tokens == 40


def test_nothing_is_reserved_beyond_the_model_s_length() -> None:
    manager = KVCacheManager(8, SIZE, max_model_len=10)
    its = Request("a", text(7), block_size=SIZE)
    new = manager.allocate_slots(its, 7, num_lookahead_tokens=9)
    assert new is not None and new.get_block_ids() == ([1, 2, 3],)


# -- the output of a step, again or made by hand ---------------------------------------------------


def test_an_output_is_added_as_often_as_it_is_given() -> None:
    engine = Engine("v1")
    engine.add("a", 5, max_tokens=3)
    output = engine.scheduler.schedule()
    for token in (7, 8):
        engine.scheduler.update_from_output(output, {"a": [token]})
    assert engine.requests["a"].output_token_ids == [7, 8]
    assert engine.step() == {"a": 2}
    assert engine.scheduler.requests == {}
    assert engine.scheduler.update_from_output(output, {"a": [9]}) == {}
    check(engine.scheduler.kv_cache_manager)


def test_an_output_made_by_hand() -> None:
    engine = Engine("v1")
    engine.add("a", 5, max_tokens=2)
    engine.step()
    by_hand = SchedulerOutput([], CachedRequestData(["a"]), {"a": 1}, 1, set(), set())
    answer = engine.scheduler.update_from_output(by_hand, {"a": [7]})
    assert [each.finish_reason for each in answer[0].outputs] == ["length"]
    by_hand.num_scheduled_tokens["a"] = 0
    message = r"num_scheduled_tokens\['a'\] must be at least 1"
    its = engine.scheduler
    refused(its, UsageError, message, its.update_from_output, by_hand, {})


def test_a_request_that_was_told_too_much_is_preempted_and_comes_back() -> None:
    """Its tokens in flight are fewer than none then, which holds nobody back."""
    engine = Engine("v1")
    engine.add("a", 5)
    output = engine.scheduler.schedule()
    for token in (7, 8):
        engine.scheduler.update_from_output(output, {"a": [token]})
    engine.scheduler._preempt_request(engine.scheduler.running.pop())
    assert engine.step() == {"a": 3}


# -- another request of the same id ----------------------------------------------------------------


@pytest.mark.parametrize("recorded", [False, True])
def test_a_table_belongs_to_an_id(recorded: bool) -> None:
    """One object begins a table, another with its id goes on with it and frees it."""
    manager = KVCacheManager(8, SIZE, 64)
    first, other = (Request("a", text(9), block_size=SIZE) for _ in range(2))
    with pagesim.record(manager) if recorded else nullcontext() as run:
        assert manager.allocate_slots(first, 5) is not None
        other.num_computed_tokens = 5
        assert manager.allocate_slots(other, 4) is not None
        assert manager.state().tables["a"].block_ids == (1, 2, 3)
        manager.free(other)
        assert run is None or run.at(-1) == manager.state()
    kinds = ["allocate_slots", "allocate_slots", "free"]
    assert run is None or [event.kind for event in run] == kinds
    assert manager.state().tables == {} and manager.usage == 0
    assert manager.allocate_slots(first, 9) is not None


def test_a_scheduler_goes_on_with_a_table_that_it_has_not_begun() -> None:
    engine = Engine("v1", gpu_blocks=8)
    manager = engine.scheduler.kv_cache_manager
    assert manager.allocate_slots(Request("a", range(3), block_size=SIZE), 2) is not None
    engine.add("a", range(3))
    assert engine.step() == {"a": 3}
    assert engine.run.at(-1) == engine.scheduler.state()


def test_a_table_that_is_too_short_is_cached_as_far_as_it_goes() -> None:
    cache = Cache(8)
    a = cache.new("a", text(12))
    assert cache.manager.allocate_slots(a, 2) is not None
    cache.manager.cache_blocks(a, 12)
    assert cache.cached == [1]
    check(cache.manager)


def test_a_free_block_may_be_cached_by_hand() -> None:
    cache = Cache(8)
    a = cache.new("a", text(4))
    cache.manager.block_pool.cache_full_blocks(a, cache.manager.block_pool.blocks[5:6], 0, 1, SIZE)
    check(cache.manager)
    assert cache.admit("b", text(9)) == 4 and cache.table("b")[0] == 5
    check(cache.manager)


def test_an_empty_salt_is_no_salt() -> None:
    cache = Cache(12)
    cache.admit("a", text(9))
    assert cache.found(text(9), cache_salt="") == 8


def test_a_table_outlives_the_caller_s_request() -> None:
    manager = KVCacheManager(8, SIZE, 64)
    assert manager.allocate_slots(Request("a", text(5)), 5) is not None
    assert manager.state().tables["a"].token_ids == tuple(text(5))
