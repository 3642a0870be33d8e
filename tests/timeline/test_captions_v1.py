"""Captions of vLLM V1 say what happened, and why it is so."""

from __future__ import annotations

import pytest

import pagesim
from pagesim.timeline import Timeline
from tests.v1.scenes import Cache, Engine, text


def caption_of(run: Timeline, kind: str, *, nth: int = 0) -> str:
    return run[run.find(kind=kind)[nth]].caption


@pytest.fixture(scope="module")
def run() -> Timeline:
    """Two equal prompts of three blocks, one after the other; then a text that needs the pool."""
    engine = Engine(8)
    with pagesim.record(engine.scheduler) as run:
        for name in ("a", "b"):
            engine.add(name, text(12), max_tokens=3)
            engine.steps(3)
        engine.add("c", text(26, first=100), max_tokens=1)
        engine.step()
    return run


def test_full_blocks_are_found_before_they_are_computed(run: Timeline) -> None:
    assert caption_of(run, "admit") == (
        "a is admitted with 12 tokens, which need 3 blocks; blocks 1, 2 and 3 are taken from the "
        "front of the free queue; blocks 1, 2 and 3 can be found from now on, even before they are "
        "computed."
    )
    assert caption_of(run, "allocate_slots") == (
        "a takes block 4 from the front of the free queue, because its last block is full."
    )


def test_blocks_are_freed_last_to_first(run: Timeline) -> None:
    assert caption_of(run, "finish") == (
        "a has finished and leaves; its blocks are freed last to first; block 4 goes to the front "
        "of the free queue, because nothing can be found in it; blocks 3, 2 and 1 are cached and "
        "go to the back, so that the earlier part, which others share most often, is forgotten "
        "last."
    )
    assert run.at(run.find(kind="finish")[0] + 1).lists == {"free queue": (4, 5, 6, 7, 3, 2, 1)}


def test_a_hit_costs_nothing_and_the_last_block_is_computed_again(run: Timeline) -> None:
    assert caption_of(run, "admit", nth=1) == (
        "b is admitted with 12 tokens, which need 3 blocks; blocks 1 and 2 hold the same tokens "
        "after the same prefix: a hit costs nothing, because these 8 tokens are not computed "
        "again; the last block of a prompt is computed again, cached or not, because the next "
        "token is sampled from its output; block 4 is taken from the front of the free queue; "
        "block 4 can be found from now on, even before it is computed."
    )


def test_what_was_cached_is_taken_last(run: Timeline) -> None:
    assert caption_of(run, "admit", nth=2).split("; ")[1:3] == [
        "blocks 5, 6 and 7 are taken from the front of the free queue",
        "blocks 3, 4, 2 and 1 forget what they cached and are taken: no other cached block has "
        "waited longer",
    ]


def test_an_output_arrives(run: Timeline) -> None:
    assert caption_of(run, "update_from_output") == (
        "The output of step 1 has arrived; a sampled token gets its slot in the next step."
    )


def test_without_caching_all_go_to_the_front() -> None:
    engine = Engine(8, enable_prefix_caching=False)
    with pagesim.record(engine.scheduler) as run:
        engine.add("a", text(12), max_tokens=1)
        engine.step()
    assert caption_of(run, "finish") == (
        "a has finished and leaves; its blocks are freed last to first; blocks 3, 2 and 1 go to "
        "the front of the free queue, because nothing can be found in them."
    )
    assert run.at(-1).lists == {"free queue": (3, 2, 1, 4, 5, 6, 7)}


def test_the_preempted_come_back() -> None:
    engine = Engine(6)
    with pagesim.record(engine.scheduler) as run:
        engine.add("a", text(9), max_tokens=8)
        engine.add("b", text(7, first=50), max_tokens=6)
        engine.steps(12)
    assert caption_of(run, "preempt").startswith(
        "b is preempted: it keeps its tokens, loses its blocks, and begins again later; its blocks "
        "are freed last to first; "
    )
    assert caption_of(run, "preempt").endswith("; what is still cached then costs nothing.")
    assert caption_of(run, "resume").startswith("b resumes with ")
    assert "has nothing to move" not in caption_of(run, "resume")


def test_steps_in_flight() -> None:
    engine = Engine(8, async_scheduling=True)
    with pagesim.record(engine.scheduler) as run:
        engine.add("a", text(6), max_tokens=3)
        engine.steps(5)
    assert caption_of(run, "allocate_slots") == (
        "a has a slot for 1 token that is not known yet: the step that samples it is in flight."
    )
    assert caption_of(run, "update_from_output") == (
        "The output of step 1 has arrived; 1 token is known now, after its slot was written."
    )
    full = "block 2 can be found now that all of its tokens are known"
    assert any(full in event.caption for event in run)


def test_a_window_drops_blocks() -> None:
    engine = Engine(8, sliding_window=4)
    with pagesim.record(engine.scheduler) as run:
        engine.add("a", text(8), max_tokens=4)
        engine.steps(2)
    assert caption_of(run, "allocate_slots").startswith(
        "entry 0 of a fell out of the sliding window: the null block 0 takes its place; block 1 "
        "returns to the free queue; a takes block 3 from the front of the free queue"
    )


def test_a_table_begins_without_a_scheduler() -> None:
    cache = Cache(8)
    with pagesim.record(cache.manager) as run:
        cache.admit("a", text(6))
    assert run[0].caption == (
        "a begins with 6 tokens, which need 2 blocks; blocks 1 and 2 are taken from the front of "
        "the free queue; block 1 can be found from now on, even before it is computed."
    )
