"""Steps of V1: shares of the budget, a chunk that is struck, and what is counted of hits."""

from typing import NamedTuple

import pytest

from pagesim.story import Engine


def test_the_adaptive_threshold_is_at_least_an_equal_share() -> None:
    limits = {"max_num_batched_tokens": 32, "long_prefill_token_threshold": 4}
    engine = Engine("v1", **limits, long_prefill_token_threshold_adaptive=True)
    engine.add("a", 20)
    engine.add("b", 20)
    assert engine.step() == {"a": 16, "b": 16}


class Seen(NamedTuple):
    """A step: what it computes, how far low is then, its table, cached blocks, queue, who runs."""

    tokens: dict[str, int]
    end: int
    low: list[int]
    cached: list[int]
    queue: list[int]
    running: list[str]


def test_a_chunk_struck_from_its_step_leaves_a_block_that_counts_as_computed() -> None:
    """The release itself has the same blocks after the same five steps.

    By priority the victim of a step may stand before the request that needs a block, and its chunk
    is struck. allocate_slots has cached the chunk's last block by then, and nobody ever writes it;
    low finds it when it returns. Only the threshold leaves budget behind low, and V0 never
    preempts what it has scheduled: there it cannot happen.
    """
    limits = {"max_num_batched_tokens": 8, "long_prefill_token_threshold": 5}
    engine = Engine("v1", gpu_blocks=8, policy="priority", **limits)
    low, seen = engine.add("low", 24, priority=1), []
    for step in range(5):
        tokens, state = engine.step(), engine.run.at(-1)
        cached, queue = sorted(state.cached), list(state.lists["free queue"])
        table = engine.table("low")
        seen.append(Seen(tokens, low.num_computed_tokens, table, cached, queue, engine.running))
        if not step:
            engine.add("high", 3, priority=0, max_tokens=3)
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
    engine = Engine("v1", gpu_blocks=6)
    engine.add("a", 7)
    engine.add("b", 8)
    engine.steps(5)
    engine.abort("a")
    engine.step()
    manager = engine.scheduler.kv_cache_manager
    stats = manager.make_prefix_cache_stats()
    assert (stats.requests, stats.queries, stats.hits) == (2, 15, 0)
    assert (stats.preempted_requests, stats.preempted_queries, stats.preempted_hits) == (1, 10, 8)
    assert manager.make_prefix_cache_stats().requests == 0


@pytest.mark.parametrize(
    ("cache", "request_options"),
    [({"enable_prefix_caching": False}, {}), ({}, {"skip_reading_prefix_cache": True})],
)
def test_a_request_that_does_not_look_is_not_counted(
    cache: dict[str, bool], request_options: dict[str, bool]
) -> None:
    engine = Engine("v1", **cache)
    engine.add("a", 7, **request_options)
    assert engine.step() == {"a": 7}
    manager = engine.scheduler.kv_cache_manager
    assert manager.make_prefix_cache_stats() == type(manager.prefix_cache_stats)()
