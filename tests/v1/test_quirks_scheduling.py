"""What surprises in V1's steps; the answers are those of the real release 0.33.0.

The requests of w08 to w10 wait forever; here that is a number of steps in which nothing happens.
"""

from typing import NamedTuple

import pytest

from pagesim.v1 import RequestStatus
from tests.v1.scenes import Engine, text


def test_w08_a_prompt_that_never_fits_waits_forever_and_so_does_all_behind_it() -> None:
    engine = Engine(4)
    engine.add("big", text(13))
    engine.add("small", text(2, 50))
    assert engine.steps(3) == [{}, {}, {}]
    assert engine.waiting == ["big", "small"]
    assert engine.scheduler.get_num_unfinished_requests() == 2


def test_w09_a_request_that_outgrows_the_pool_preempts_itself_and_waits_forever() -> None:
    engine = Engine(3)
    engine.add("a", text(6), max_tokens=20)
    assert engine.steps(6) == [{"a": 6}, {"a": 1}, {"a": 1}, {}, {}, {}]
    a = engine.requests["a"]
    assert (engine.waiting, a.num_preemptions, a.num_tokens) == (["a"], 1, 9)


@pytest.mark.parametrize(("caching", "preemptions"), [(False, 3), (True, 1)])
def test_w10_a_prompt_admitted_by_its_first_chunk_alone(caching: bool, preemptions: int) -> None:
    engine = Engine(
        4, scheduler_reserve_full_isl=False, max_num_batched_tokens=8, enable_prefix_caching=caching
    )
    engine.add("a", text(14))
    again = {} if caching else {"a": 8}
    assert engine.steps(6) == [{"a": 8}, {}, again, {}, again, {}]
    assert engine.requests["a"].num_preemptions == preemptions


def test_w13_the_watermark_holds_only_while_something_runs() -> None:
    engine = Engine(8, watermark=0.5)
    engine.add("a", text(16))
    engine.add("b", text(4, 50))
    assert (engine.step(), engine.waiting, len(engine.queue)) == ({"a": 16}, ["b"], 3)


@pytest.mark.parametrize(("names", "tokens"), [("a", 10), ("ab", 4)])
def test_w15_the_threshold_does_not_bind_a_request_that_is_alone(names: str, tokens: int) -> None:
    engine = Engine(20, long_prefill_token_threshold=4)
    for at, name in enumerate(names):
        engine.add(name, text(10, 50 * at))
    assert engine.step() == dict.fromkeys(names, tokens)


def test_the_adaptive_threshold_is_at_least_an_equal_share() -> None:
    engine = Engine(20, long_prefill_token_threshold=4, long_prefill_token_threshold_adaptive=True)
    engine.add("a", text(20))
    engine.add("b", text(20, 50))
    assert engine.step() == {"a": 16, "b": 16}


def test_w25_a_victim_may_be_one_that_this_step_has_scheduled() -> None:
    engine = Engine(6, policy="priority")
    engine.add("low", text(7), priority=5, arrival_time=0.0)
    engine.step()
    engine.add("high", text(8, 50), priority=1, arrival_time=1.0)
    assert engine.steps(3) == [{"low": 1, "high": 8}, {"high": 1}, {"high": 1}]
    assert (engine.running, engine.waiting) == (["high"], ["low"])


def test_w27_asynchronously_a_stop_token_wastes_a_step_and_the_length_does_not() -> None:
    engine = Engine(async_scheduling=True)
    engine.add("stop", text(3), stop_token_ids=[903])
    engine.add("len", text(3, 20), max_tokens=2)
    assert engine.steps(5) == [{"stop": 3, "len": 3}, {"stop": 1, "len": 1}, {"stop": 1}, {}, {}]
    assert engine.requests["stop"].output_token_ids == [901, 903]


class Seen(NamedTuple):
    """A step: what it computes, how far low is then, its table, cached blocks, queue, who runs."""

    tokens: dict[str, int]
    end: int
    low: list[int]
    cached: list[int]
    queue: list[int]
    running: list[str]


def test_w33_a_chunk_struck_from_its_step_leaves_a_block_that_counts_as_computed() -> None:
    """The release itself has the same blocks after the same five steps.

    By priority the victim of a step may stand before the request that needs a block, and its chunk
    is struck. allocate_slots has cached the chunk's last block by then, and nobody ever writes it;
    low finds it when it returns. Only the threshold leaves budget behind low, and V0 never
    preempts what it has scheduled: there it cannot happen.
    """
    engine = Engine(8, max_num_batched_tokens=8, policy="priority", long_prefill_token_threshold=5)
    engine.add("low", text(24), priority=1)
    seen = []
    for step in range(5):
        tokens, end = engine.step(), engine.requests["low"].num_computed_tokens
        low, cached = engine.table("low"), engine.cached
        seen.append(Seen(tokens, end, low, cached, engine.queue, engine.running))
        if not step:
            engine.add("high", text(3, 100), priority=0, max_tokens=3)
    both = ["low", "high"]
    assert seen == [
        Seen({"low": 8}, 8, [1, 2], [1, 2], [3, 4, 5, 6, 7], ["low"]),
        Seen({"low": 5, "high": 3}, 13, [1, 2, 3, 4], [1, 2, 3], [6, 7], both),
        # low's tokens 13 to 17: the last two begin block 6. high fills its own block.
        Seen({"low": 5, "high": 1}, 18, [1, 2, 3, 4, 6], [1, 2, 3, 4, 5], [7], both),
        # low is given 18 to 22, so 6 is cached; then high needs the last block, and low gives way.
        Seen({"high": 1}, 0, [], [1, 2, 3, 4, 5, 6], [7, 6, 4, 3, 2, 1, 5], []),
        # high has ended. low finds its blocks, 6 among them: 18 and 19 count as computed.
        Seen({"low": 4}, 24, [1, 2, 3, 4, 6, 7], [1, 2, 3, 4, 5, 6, 7], [5], ["low"]),
    ]
    spans = [range(each.end - each.tokens.get("low", 0), each.end) for each in seen]
    assert set(range(24)) - {at for span in spans for at in span} == {18, 19}


def test_hits_are_counted_when_a_request_is_admitted_and_victims_apart() -> None:
    engine = Engine(6)
    engine.add("a", text(7))
    engine.add("b", text(8, 50))
    engine.steps(5)
    engine.scheduler.finish_requests("a", RequestStatus.FINISHED_ABORTED)
    engine.step()
    stats = engine.manager.make_prefix_cache_stats()
    assert (stats.requests, stats.queries, stats.hits) == (2, 15, 0)
    assert (stats.preempted_requests, stats.preempted_queries, stats.preempted_hits) == (1, 10, 8)
    assert engine.manager.make_prefix_cache_stats().requests == 0


@pytest.mark.parametrize(
    ("cache", "request_options"),
    [({"enable_prefix_caching": False}, {}), ({}, {"skip_reading_prefix_cache": True})],
)
def test_a_request_that_does_not_look_is_not_counted(
    cache: dict[str, bool], request_options: dict[str, bool]
) -> None:
    engine = Engine(12, **cache)
    engine.add("a", text(7), **request_options)
    assert engine.step() == {"a": 7}
    assert engine.manager.make_prefix_cache_stats() == type(engine.manager.prefix_cache_stats)()
