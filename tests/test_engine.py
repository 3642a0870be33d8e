"""A scheduler by hand: the façade says what the engine does, and refuses what it cannot mean."""

from typing import Any

import pytest

import pagesim
from pagesim import v1
from pagesim.errors import UnsupportedError, UsageError

ENGINES = pytest.mark.parametrize("name", ["v0", "v1"])


@ENGINES
def test_requests_are_served_to_their_end(name: str) -> None:
    engine = pagesim.Engine(name, gpu_blocks=12)
    engine.add("a", 9, max_tokens=3)
    engine.add("b", "so many words", max_tokens=2)
    assert engine.steps(4) == [{"a": 9, "b": 3}, {"a": 1, "b": 1}, {"a": 1}, {}]
    assert (engine.waiting, engine.running, engine.swapped, engine.holding) == ([], [], [], [])
    assert engine.status("a") == "FINISHED_LENGTH_CAPPED"
    assert engine.table("a") == []
    assert engine.free == 12 - (name == "v1")
    assert engine.run.notes.tokens[0] == "so"


@ENGINES
def test_a_small_budget_needs_no_other_limit(name: str) -> None:
    engine = pagesim.Engine(name, max_num_batched_tokens=3)
    engine.add("a", 3)
    assert engine.step() == {"a": 3}
    with pytest.raises(TypeError, match="max_num_batched_tokens must be"):
        pagesim.Engine(name, max_num_batched_tokens="x")


@ENGINES
def test_who_waits_runs_and_was_preempted(name: str) -> None:
    engine = pagesim.Engine(name, gpu_blocks=5, enable_prefix_caching=False)
    engine.add("a", 8)
    engine.add("b", 8)
    engine.step()
    engine.step()
    assert (engine.running, engine.waiting) == (["a"], ["b"])
    assert (engine.preemptions(), engine.preemptions("b"), engine.preemptions("a")) == (1, 1, 0)
    assert len(engine.table("a")) == 3
    engine.abort("a")
    assert (engine.running, engine.step()) == ([], {"b": 9})


def test_v0_swaps_and_forks() -> None:
    engine = pagesim.Engine("v0", gpu_blocks=4, cpu_blocks=4, preemption_mode="swap")
    engine.add("a", 7)
    engine.add("b", 8)
    engine.steps(2)
    assert engine.swapped == ["b"]
    assert "b is preempted" in next(e.caption for e in engine.run if e.kind == "preempt")
    engine.fork("a")
    assert len(engine.requests["a"].seqs) == 2


def test_v1_has_a_second_tier_several_groups_and_steps_in_flight() -> None:
    tier = pagesim.Engine("v1", gpu_blocks=4, cpu_blocks=8)
    tier.add("a", range(8), max_tokens=1)
    tier.steps(3)
    assert isinstance(tier.scheduler, v1.Scheduler) and tier.scheduler.connector is not None
    groups = pagesim.Engine("v1", gpu_blocks=9, groups="full,window:4")
    groups.add("a", 4)
    assert groups.step() == {"a": 4} and groups.free == 6
    late = pagesim.Engine("v1", async_scheduling=True)
    late.add("a", 3, stop_token_ids=[1_000_001])
    assert late.steps(3) == [{"a": 3}, {"a": 1}, {}]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"engine": "v2"}, "'v2'"), ({"speed": 3}, "speed"), ({"gpu_blocks": 10**9}, "blocks")],
)
def test_an_engine_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        pagesim.Engine(**options)


@ENGINES
def test_a_request_that_cannot_be(name: str) -> None:
    engine = pagesim.Engine(name)
    engine.add("a", 3)
    with pytest.raises(UsageError, match="'a'"):
        engine.add("a", 3)
    with pytest.raises(UsageError, match="there are a"):
        engine.abort("z")
    with pytest.raises(TypeError):
        engine.add("z", [1.5])  # type: ignore[list-item]
    assert "z" not in engine.requests
    if name == "v1":
        with pytest.raises(UnsupportedError, match="V1 has no forks"):
            engine.fork("a")


def test_each_group_has_a_table_of_its_own() -> None:
    engine = pagesim.Engine("v1", groups="full,window:8")
    engine.add("a", 5)
    engine.step()
    assert engine.tables("a") == [[1, 2], [3, 4]] and engine.table("a") == [1, 2]
    old = pagesim.Engine("v0")
    old.add("a", 5)
    assert old.tables("a") == old.table("a") == []
    old.step()
    assert old.tables("a") == [old.table("a")] and len(old.table("a")) == 2


@ENGINES
def test_without_a_recording_it_serves_the_same(name: str) -> None:
    """Preemptions are counted as the recorded run tells them."""
    engines = [
        pagesim.Engine(
            name,
            6,
            record=record,
            enable_prefix_caching=False,
            enable_chunked_prefill=True,
            max_num_batched_tokens=16,
        )
        for record in (True, False)
    ]
    for engine in engines:
        for number in range(5):
            engine.add(f"r{number}", 3 + 2 * number, max_tokens=6)
    recorded, plain = engines
    assert recorded.steps(60) == plain.steps(60)
    told = [event.moves for event in recorded.run if event.kind == "preempt"]
    for its in recorded.requests:
        times = sum(its in [move.request for move in moves] for moves in told)
        assert times == recorded.preemptions(its) == plain.preemptions(its)
    assert recorded.preemptions() >= 1
    with pytest.raises(UsageError, match="record=True"):
        _ = plain.run
