"""A `schedule()` that raises half way changes nothing, and leaves one event that says so."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from pagesim import Timeline, UsageError, record
from pagesim.journal import Journal
from tests.timeline.scenes import in_queues, interrupted
from tests.v0.scheduling.engine import Engine

Errors = (RuntimeError, ValueError, KeyboardInterrupt)


def engine(*requests: tuple[str, int], steps: int = 0, **config: Any) -> Engine:
    e = Engine(**config)
    for name, tokens in requests:
        e.add(name, tokens)
    if steps:
        e.steps(steps)
    return e


def no_room_on_the_cpu() -> Engine:
    """q43: e goes to the CPU, tokens of a, b and c are written, and then d finds no room there."""
    sizes: Any = {"gpu": 10, "cpu": 3, "watermark": 0.0, "preemption_mode": "swap"}
    requests = ("a", 5), ("b", 8), ("c", 8), ("d", 8), ("e", 8)
    return engine(*requests, steps=1, enable_prefix_caching=True, **sizes)


def a_forked_group() -> Engine:
    """It would have to be recomputed; c is preempted before that is found out."""
    e = engine(("a", 5), ("b", 8), ("c", 3), steps=1, gpu=5, watermark=0.0)
    e.fork("b", 9)
    return e


def a_clock_that_stops() -> Engine:
    e = engine(("a", 3))
    e.now = float("nan") - 1
    return e


def swapped_in_before_the_prompt() -> Engine:
    """a comes back from the CPU; then b's prompt turns out to need more than its window shows."""
    sizes: Any = {"gpu": 7, "cpu": 8, "watermark": 0.0, "sliding_window": 4}
    chunks: Any = {"preemption_mode": "swap", "enable_chunked_prefill": True}
    e = engine(("x", 12), ("a", 8), steps=2, **sizes, **chunks)
    assert e.queues == ("", "x", "a")
    e.scheduler.abort_seq_group("x")
    e.add("b", 20)
    return e


def half_computed() -> Engine:
    e = engine(("a", 3))
    e.scheduler.schedule()
    return e


BUDGET: Any = {"enable_chunked_prefill": True, "enable_prefix_caching": True}
SCENES: dict[str, Callable[[], Engine]] = {
    "no room on the CPU": no_room_on_the_cpu,
    "a forked group": a_forked_group,
    # q40: a is admitted; b counts as small, for of its 10 blocks the window keeps 3 in the end.
    "window": lambda: engine(("a", 6), ("b", 40), gpu=11, watermark=0.0, sliding_window=4),
    "a bad budget": lambda: engine(("a", 30), max_num_batched_tokens=10, **BUDGET),
    "swapped in before the prompt": swapped_in_before_the_prompt,
    "a clock that stops": a_clock_that_stops,
    "half computed": half_computed,
}


def assert_only_failed(run: Timeline, index: int) -> None:
    event = run[index]
    assert (event.kind, event.called, event.subject) == ("failed", "schedule", None)
    assert event.caption.startswith("schedule failed, and nothing has changed: ")
    assert (event.effects, event.tables, event.opened, event.closed) == ((), (), (), ())
    assert event.moves == event.scheduled == ()
    assert run.at(index) == run.at(index + 1)


@pytest.mark.parametrize("scene", SCENES)
def test_one_event_and_no_trace(scene: str) -> None:
    e = SCENES[scene]()
    untouched = e.everything()
    with pytest.raises(Errors):
        e.scheduler.schedule()
    assert e.everything() == untouched
    with record(e.scheduler) as run:
        e.add("z", 12, seq_id=20)
        for count in range(1, 4):
            before = e.scheduler.state()
            with pytest.raises(Errors) as info:
                e.scheduler.schedule()
            assert len(run) == 1 + count and run[count].error == str(info.value)
            assert_only_failed(run, count)
            assert run.at(count) == run.at(count + 1) == before == e.scheduler.state()
            assert run[count].step == count
        e.now = 9.0
        for name in "abcde":
            e.scheduler.abort_seq_group(name)
            assert run.at(-1) == e.scheduler.state()
        with contextlib.suppress(*Errors):
            e.step()
            e.add("y", 3, seq_id=21)
            e.steps(3)
    assert run.at(-1) == e.scheduler.state()
    assert [event.error is None for event in run] == [event.kind != "failed" for event in run]
    assert run.at(1).queues.waiting[-1] == "z"


def test_what_is_undone_was_more_than_a_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above would pass for want of anything to forget."""
    e = no_room_on_the_cpu()
    seen = []
    plain = Journal.close

    def close(journal: Journal, kind: str, subject: object) -> None:
        seen.append(kind)
        plain(journal, kind, subject)

    monkeypatch.setattr(Journal, "close", close)
    lacking = pytest.raises(RuntimeError, match="no CPU swap space for group 'd'")
    with record(e.scheduler) as run, lacking:
        e.scheduler.schedule()
    assert seen[:2] == ["preempt", "append_slots"]
    assert [event.kind for event in run] == ["failed"]


@pytest.mark.parametrize(
    "called",
    ["access_all_blocks_in_seq", "get_common_computed_block_ids", "mark_blocks_as_computed"],
)
def test_stopped_when_all_was_decided(called: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then all of it is taken back, and the run says that it failed."""
    e = Engine(enable_prefix_caching=True)
    e.add("a", 5)
    manager = e.scheduler.block_manager
    with record(e.scheduler) as run:
        before = e.everything(), e.scheduler.state()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(manager, called, interrupted, raising=True)
            e.scheduler.schedule()
        assert_only_failed(run, 0)
        assert (e.everything(), e.scheduler.state()) == before
        e.scheduler.schedule()
    assert run.at(-1) == e.scheduler.state()
    assert run.at(-1).queues["running"] == ("a",)


def test_other_calls_that_fail_are_named_as_calls() -> None:
    e = Engine()
    with record(e.scheduler) as run:
        for nonsense in (None, e.add("a", 3)):
            if nonsense is not None:
                nonsense.first_seq.status = type(nonsense.first_seq.status).RUNNING
            with pytest.raises((TypeError, UsageError)):
                e.scheduler.add_seq_group(nonsense)
    failed = [event for event in run if event.kind == "failed"]
    assert {event.called for event in failed} == {"add_seq_group"}
    assert [event.subject for event in failed] == [None, 0]
    assert run.at(-1).queues == in_queues(("a",), (), ())
