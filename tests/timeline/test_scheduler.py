"""A recorded scheduler: its decisions, its steps, its queues."""

import json
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim import record
from pagesim.journal.effects import DECISIONS
from pagesim.replay import replay_file
from pagesim.timeline import Event, Move, Scheduled, Timeline
from tests.timeline.random_calls.scheduler import SchedulerRun
from tests.timeline.scenes import in_queues, words
from tests.v0.scheduling.engine import Engine

DATA = Path(__file__).parents[1] / "data"


def lines(run: Timeline, first: int = 0) -> list[str]:
    """Each event as "step kind subject: effects; how requests move"."""
    return [
        f"{event.step} {event.kind} {event.subject}: "
        f"{', '.join(' '.join(map(str, word[:3])) for word in words(event))}; {route(event)}"
        for event in run[first:]
    ]


def kinds(run: Timeline, first: int = 0) -> list[tuple[str, object]]:
    return [(event.kind, event.subject) for event in run[first:]]


def route(event: Event) -> str:
    """As "-running 2 c +waiting 0 c"."""
    return " ".join(f"{'-+'[m.enters]}{m.queue} {m.place} {m.request}" for m in event.moves)


def scarce(**config: Any) -> Engine:
    """Three requests that fill 8 blocks of 4; in the third step one of them must give way."""
    e = Engine(gpu=8, watermark=0.0, **config)
    for name in "abc":
        e.add(name, 7)
    return e


def test_a_step_is_its_decisions_and_then_who_computes() -> None:
    e = scarce()
    with record(e.scheduler) as run:
        e.steps(2)
    took = [f"take {2 * i}, write {2 * i} {i}, take {2 * i + 1}, write {2 * i + 1} {i}"
            for i in range(3)]  # fmt: skip
    assert lines(run) == [
        *(f"1 admit {i}: {took[i]}; -waiting 0 {n} +running {i} {n}" for i, n in enumerate("abc")),
        "1 schedule None: ; ",
        *(f"2 append_slots {i}: write {2 * i + 1} {i}; " for i in range(3)),
        "2 schedule None: ; ",
    ]
    assert run[0].moves[0] == Move(False, "waiting", 0, "a", 0)
    assert run[3].scheduled == tuple(Scheduled(name, i, 7, True) for i, name in enumerate("abc"))
    assert run[7].scheduled == tuple(Scheduled(name, i, 1, False) for i, name in enumerate("abc"))
    assert run.at(0).queues == in_queues(("a", "b", "c"), (), ())
    assert run.at(2).queues == in_queues(("c",), ("a", "b"), ())
    assert run.at(2).requests == {"a": 0, "b": 1, "c": 2}


def test_preempted_to_be_recomputed() -> None:
    e = scarce()
    with record(e.scheduler) as run:
        e.steps(3)
        e.step(finish="ab")
        e.step()
    (at,) = run.find(kind="preempt")
    assert lines(run)[at] == "3 preempt 2: free 4, free 5; -running 2 c +waiting 0 c"
    assert run[at].closed == (2,)
    assert kinds(run, at + 4) == [  # after the two decodes of step 4
        *(("schedule", None), ("free", 0), ("free", 1), ("finish", 0), ("finish", 1)),
        *(("admit", 2), ("schedule", None)),
    ]
    assert [event.step for event in run[at + 4 :]] == [4] * 5 + [5] * 2


def test_the_victims_of_one_step_stand_in_the_order_of_vllm() -> None:
    """q30: recompute restores their age, swap puts the youngest first; at every event."""
    for mode, ends, order in (("recompute", "waiting", "cd"), ("swap", "swapped", "dc")):
        e = Engine(gpu=7, cpu=4, watermark=0.0, preemption_mode=mode)
        for name, tokens in (("a", 8), ("b", 8), ("c", 4), ("d", 4)):
            e.add(name, tokens)
        with record(e.scheduler) as run:
            e.steps(2)
        first, second = run.find(kind="preempt")
        assert (run[first].subject, run[second].subject) == (3, 2)
        assert getattr(run.at(first + 1).queues, ends) == ("d",)
        assert getattr(run.at(second + 1).queues, ends) == tuple(order)
        assert e.queues[0] + e.queues[2] == order
        assert not any(run[i].moves for i in run.find(kind="schedule")), "no decision was missed"


def test_who_can_never_fit_is_ignored() -> None:
    e = Engine(gpu=3, watermark=0.0)
    with record(e.scheduler) as run:
        e.add("huge", 60)
        e.add("long", 200)
        e.step()
    assert kinds(run)[:4] == [("arrive", 0), ("arrive", 1), ("ignore", 0), ("ignore", 1)]
    assert run.at(-1).queues == in_queues()


def test_aborted_in_any_queue_by_one_call() -> None:
    """An event each, with the blocks of that request; in the order in which it happens."""
    e = scarce(cpu=4, preemption_mode="swap")
    with record(e.scheduler) as run:
        e.steps(3)
        e.add("w", 5)
        first = len(run)
        e.scheduler.abort_seq_group(["b", "c", "w", "?", "a"])
    assert lines(run, first) == [
        "3 abort 3: ; -waiting 0 w",
        "3 abort 0: free 0, free 1, free 6; -running 0 a",
        "3 abort 1: free 2, free 3, free 7; -running 0 b",
        "3 abort 2: free 8, free 9; -swapped 0 c",
    ]
    with record(e.scheduler) as nothing:
        e.scheduler.abort_seq_group("b")
    assert len(nothing) == 0


def test_finished_requests_leave_with_what_they_still_hold() -> None:
    e = Engine()
    for name in "abc":
        e.add(name, 6)
    e.steps(2)  # a group is forked when its prompt is computed
    e.fork("b", 9)
    with record(e.scheduler) as run:
        for seq in (e.groups["a"].seqs[0], e.groups["b"].seqs[1], e.groups["c"].seqs[0]):
            seq.status = pagesim.SequenceStatus.FINISHED_STOPPED
        e.scheduler.free_finished_seq_groups()
        e.scheduler.free_finished_seq_groups()
    assert kinds(run) == [("finish", 0), ("free", 9), ("finish", 2)]
    assert [route(event) for event in run] == ["-running 0 a", "", "-running 1 c"]
    assert [len(event.closed) for event in run] == [1, 1, 1]
    assert run.at(-1).queues == in_queues((), ("b",), ())


def test_a_request_whose_first_sequence_has_ended_leaves_from_its_place() -> None:
    e = Engine()
    e.add("a", 6)
    e.add("b", 6)
    e.steps(2)
    e.fork("b", 9)
    group = e.groups["b"]
    with record(e.scheduler) as run:
        group.seqs[0].status = pagesim.SequenceStatus.FINISHED_STOPPED
        e.scheduler.free_seq(group.seqs[0])
        group.remove(group.seqs[0].seq_id)
        e.scheduler.abort_seq_group("b")
    assert route(run[-1]) == "-running 1 b"


# -- when it is known, and by whom ---------------------------------------------------------------


def test_recorded_in_the_middle_of_its_life() -> None:
    e = scarce(cpu=4, preemption_mode="swap")
    e.steps(3)
    e.add("w", 5)
    with record(e.scheduler) as run:
        e.step()
    assert run.at(0).queues == in_queues(("w",), ("a", "b"), ("c",))
    assert run.at(0).requests == {"w": 3, "a": 0, "b": 1, "c": 2}
    assert [event.step for event in run] == [1] * len(run)


def test_a_manager_s_recording_learns_of_the_scheduler_by_an_event() -> None:
    e = scarce()
    e.step()
    with record(e.scheduler.block_manager) as outer:
        e.step()
        assert kinds(outer) == [("append_slots", i) for i in range(3)]
        with record(e.scheduler) as inner:
            e.step()
        e.step()
    assert (outer[3].kind, outer.at(3).queues) == ("record", in_queues())
    assert outer.at(4).queues == inner.at(0).queues == in_queues((), ("a", "b", "c"), ())
    assert "record" not in [event.kind for event in inner]
    assert outer.at(-1).queues == in_queues(("c",), ("a", "b"), ())
    with record(e.scheduler) as whole, record(e.scheduler.block_manager) as again:
        e.step()
    assert list(whole) == list(again) and whole.at(0) == again.at(0)


def test_ids_that_are_no_names() -> None:
    e = Engine()
    with record(e.scheduler) as run:
        for seq_id, request_id in enumerate(["0", "s1", "7", None, "\ud800", ("x",), 4]):
            seq = pagesim.Sequence(seq_id, [1], 4)
            e.scheduler.add_seq_group(pagesim.SequenceGroup(request_id, [seq]))  # type: ignore[arg-type]
    names = run.at(-1).queues.waiting
    assert names == ("0", "s1", "7", "None", r"'\ud800'", "('x',)", 4)
    named = ["as request" in event.caption for event in run]
    assert named == [False, False, True, True, True, True, True]


# -- any run --------------------------------------------------------------------------------------


def test_every_decision_is_told_once_and_every_step_adds_up() -> None:
    seen = set()
    for seed in range(15):
        source = SchedulerRun(seed)
        scheduler = source.scheduler
        plain = source.schedule

        def schedule(source: SchedulerRun = source, plain: Any = plain) -> None:
            before = run.find(kind="schedule")
            plain()
            after = run.find(kind="schedule")
            if len(after) > len(before):
                computed = sum(s.num_tokens for s in run[after[-1]].scheduled)
                tokens = [m.token_chunk_size if m.is_prompt else len(g.seqs)
                          for g, m in source.computing]  # fmt: skip
                assert computed == sum(tokens)

        source.schedule = schedule  # type: ignore[method-assign]
        with record(scheduler) as run:
            source.steps(100)
        steps = [event.step or 0 for event in run]
        assert steps == sorted(steps) and {*steps} == {*range(max(steps) + 1)} - {0} | {steps[0]}
        ends = [event.step for event in run if "schedule" in (event.kind, event.called)]
        assert ends == [*range(1, max(steps) + 1)]
        assert len(run.find(kind="preempt")) == scheduler.num_cumulative_preemption
        for event in run:
            if event.kind in DECISIONS:
                seen.add(event.kind)
                assert event.moves and {m.sequence for m in event.moves} == {event.subject}
                assert len({m.request for m in event.moves}) == 1
    assert seen == {*DECISIONS}


def test_a_long_queue_is_not_written_again_at_each_event(tmp_path: Path) -> None:
    e = Engine()
    with record(e.scheduler) as run:
        for i in range(2000):
            e.add(f"r{i}", 3)
    run.save(tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_bytes().splitlines()
    assert max(map(len, lines[1:])) < 300
    assert len(json.loads(lines[-1])["queues"]) == 1
    assert run.nbytes < 500 * len(run)


@pytest.mark.parametrize("name", ["recompute-501", "chunked_swap-504", "prefix_recompute-505"])
def test_a_recording_of_vllm_replays_while_it_is_recorded(name: str) -> None:
    result = replay_file(DATA / f"scheduler-{name}.jsonl.gz", record_runs=True)
    assert result.mismatch is None
    run = max(result.runs, key=len)
    assert run.find(kind="preempt") and run.find(kind="schedule")
