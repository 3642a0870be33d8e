"""A second tier in the player's model: the copies under way, who waits for them, and the words."""

import random
from typing import Any

import pytest

from tests.player import samples, tiered
from tests.player.conftest import NodeError
from tests.player.test_model import STATES

FILES = {name: make() for name, make in tiered.RUNS.items()}


def step_of(name: str, kind: str, nth: int = 0) -> int:
    """The step that the nth event of a kind makes."""
    return [i + 1 for i, event in enumerate(FILES[name][1]) if event["event"] == kind][nth]


@pytest.mark.parametrize("name", FILES)
def test_every_step_in_any_order(node: Any, name: str) -> None:
    head, events = FILES[name]
    expected = samples.states(head, events)
    order = list(range(len(expected)))
    random.Random(0).shuffle(order)
    assert node(STATES, (head, events), order=order) == [expected[i] for i in order]
    assert any(state["jobs"] for state in expected) and not expected[0]["jobs"]


def test_a_file_begins_with_copies_under_way(node: Any) -> None:
    head, events = FILES["two"]
    at = step_of("two", "load")
    middle = samples.states(head, events)[at]
    rest = (head | {"state": middle, "events": len(events) - at}, events[at:])
    assert node(STATES, rest, order=[0]) == [middle]
    assert node("return [run.problem, run.steps];", rest) == ["", len(events) - at]


WAITS = """
const s = run.at(given.step);
return given.names.map((name) => player.waitsFor(s, name));
"""


def test_who_waits_for_what(node: Any) -> None:
    """b loads from step 17 to 26; c is passed over in 18, and the first copy ends in 24."""
    loads, deferred = step_of("one", "load"), step_of("one", "defer")
    ended, received = (step_of("one", "update_connector_output", nth) for nth in (1, 2))
    found = {
        step: node(WAITS, FILES["one"], step=step, names=["b", "c", "e"])
        for step in (loads - 1, loads, deferred, ended - 1, ended, received, received + 2)
    }
    assert found == {
        loads - 1: ["", "", ""],
        loads: ["loads 2 blocks", "", ""],
        deferred: ["loads 2 blocks", "waits for a copy", ""],
        ended - 1: ["loads 2 blocks", "waits for a copy", ""],
        ended: ["loads 2 blocks", "", ""],  # it is not known whether c waits for the other one
        received: ["loaded", "", ""],
        received + 2: ["", "", ""],  # it was promoted
    }


FLUSHED = "return [...run.at(given.step).jobs.values()].map((job) => [job.id, job.isFlushed]);"


def test_a_store_is_flushed_when_its_source_is_taken_or_its_request_preempted(node: Any) -> None:
    taken, preempted = step_of("one", "admit", 2), step_of("one", "preempt")
    steps = (taken - 1, taken, preempted - 1, preempted)
    found = [node(FLUSHED, FILES["one"], step=step) for step in steps]
    assert found == [[[1, False], [2, False]], [[1, True], [2, False]],
                     [[3, False], [4, False]], [[3, True], [4, False]]]  # fmt: skip


def test_what_is_promised_is_not_there(node: Any) -> None:
    code = """
    const s = run.at(given.step);
    return [[...s.pending].map(([id, job]) => [id, job.kind]), [1, 2].map((id) => s.tokensIn(id))];
    """
    loads, ended = step_of("one", "load"), step_of("one", "update_connector_output", 2)
    pending, there = node(code, FILES["one"], step=loads)
    assert pending == [[id, "store"] for id in range(11, 17)] + [[1, "load"], [2, "load"]]
    assert there == [[], []]
    pending, there = node(code, FILES["one"], step=ended)
    assert pending == [] and there == [[0, 1, 2, 3], [4, 5, 6, 7]], "as soon as the load has ended"


def test_a_copy_keeps_what_its_source_held(node: Any) -> None:
    """Block 3, a source, is taken by e while it is being stored; block 16 gets x's words."""
    code = "const s = run.at(given.step); return [3, 16].map((id) => s.tokensIn(id));"
    taken = step_of("one", "admit", 2)
    assert node(code, FILES["one"], step=taken) == [[16, 17, 18, 19], [*range(120, 124)]]
    head, events = FILES["one"]
    bare = [event | {"effects": [e for e in event.get("effects", [])
                                 if e[0] != "write" or e[1] < head["pools"][0][1]]}
            for event in events]  # fmt: skip
    assert node(code, (head, bare), step=taken) == [[16, 17, 18, 19], [*range(120, 124)]]


def test_blocks_and_jobs_in_words(node: Any) -> None:
    code = """
    const s = run.at(given.step), words = (token) => `<${token}>`;
    return [
      [1, 4, 9, 11].map((id) => player.describeBlock(run, s, id, words)),
      [...s.jobs.values()].map((job) => player.jobText(s, job)),
    ];
    """
    blocks, jobs = node(code, FILES["two"], step=step_of("two", "load"))
    target, source, read, promised = blocks
    assert "eing loaded from 9" in target and "eing stored to 11" in source
    assert "chunk 0: a copy" in read and "<0> <1> <2> <3>" in read and "1 load reads it" in read
    assert "chunk 1: " in promised and "eing stored from 4" in promised and "<" not in promised
    store, load = jobs
    assert "x stores 6 blocks: 4 \u2192 11" in store and "b loads 2 blocks: 9 \u2192 1" in load


@pytest.mark.parametrize(
    ("effect", "message"),
    [
        (["begin", 0, "store", "a", [[1, 99]]], "block 99 does not exist"),
        (["begin", 0, "store", "a", [[1]]], "job 0 has a block without a partner"),
        (["begin", 0, "store", "a", 7], "pairs is not a list"),
        (["begin", 0, "send", "a", []], "job 0 is no store or load of a request"),
        (["begin", "x", "store", "a", []], 'job "x" begins, but it has begun already'),
        (["end", 5], "job 5 ends, but it is not under way"),
    ],
)
def test_nonsense_is_named(node: Any, effect: list[Any], message: str) -> None:
    head, _ = FILES["one"]
    events = [samples.event("schedule", None, effect)]
    assert node("return run.problem;", (head | {"events": 1}, events)) == f"line 2: {message}"


@pytest.mark.parametrize("tier", [{}, None, 2, {"blocks_per_chunk": 0}, {"blocks_per_chunk": 3}])
def test_a_tier_has_whole_chunks(node: Any, tier: Any) -> None:
    head, events = FILES["one"]
    with pytest.raises(NodeError, match="tier has no chunks"):
        node("return run.steps;", (head | {"tier": tier}, events))


def test_an_eviction_is_asked_for_and_explained(node: Any) -> None:
    code = """
    const s = run.at(given.at);
    return [player.questionFor(run, s, given.at), run.problem];
    """
    at = step_of("one", "schedule", 5) - 1
    question, problem = node(code, FILES["one"], at=at)
    assert problem == "" and question["answers"] == [9]
    assert "No chunk" in question["why"]
