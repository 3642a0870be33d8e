"""Reasons are the step's own and belong to what is asked: why a block answers, and why not."""

from typing import Any

import pytest

import pagesim
from pagesim import Question, UsageError
from pagesim.simulation.rows import record_max
from pagesim.timeline.questions import ANSWERS
from tests.e2e import scenes
from tests.player import samples
from tests.player.test_questions import AUTOMATIC, small

REASONS = """
const s = run.at(given.at), event = run.events[given.at];
const question = player.questionFor(run, s, given.at);
return given.ids.map((id) => player.whyNot(s, event, question, id));
"""


def reasons(node: Any, run: pagesim.Timeline, question: Question, *ids: int) -> list[str]:
    """What is said of blocks that are chosen, and are no answer."""
    return node(REASONS, run.annotate(questions=[question]), at=question.at, ids=ids)


def test_a_wrong_reason_belongs_to_what_is_asked(node: Any) -> None:
    """Of blocks that are given back all are in use: that is why none of them could be *taken*."""
    back = Question(2, "?", "returned", which="last")
    assert reasons(node, small(), back, 0, 2, 7) == [
        "block 0 is returned too, but not last",
        "block 2 stays with s1",
        "block 7 is number 4 in the GPU free list",
    ]
    assert reasons(node, small(), Question(3, "?", which="first"), 0, 2, 4) == [
        "block 0 is taken too, but not first",
        "block 2 belongs to s1",
        "block 4 is number 3 in the GPU free list",
    ]
    swap = scenes.small()  # 2 writes into block 2, 3 forks s0, 4 copies, 5 swaps s1 out, 7 ends s2
    said = reasons(node, swap, Question(2, "?", "written"), 0, 1, 12)
    assert said == ["block 0 is full", "block 1 belongs to s0", "block 12 is on the CPU"]
    said = reasons(node, swap, Question(5, "?", "swapped to"), 2, 13)
    assert said == ["block 2 is on the GPU", "block 13 is number 2 in the CPU free list"]
    assert reasons(node, swap, Question(5, "?", "swapped"), 0) == ["block 0 stays with s0 and s2"]


def test_a_wrong_choice_of_a_cached_block(node: Any) -> None:
    story = pagesim.Story(gpu_blocks=4, block_size=2, caching=True)
    for tokens in ([1, 2, 3, 4], [5, 6]):
        story.arrive(tokens).leave()
    for tokens in ([1, 2, 9, 9], [7, 7]):
        story.arrive(tokens)
    run = story.run
    found, evicted = run.find(kind="hit")[0], run.find(kind="evict")[0]
    said = reasons(node, run, Question(found, "?", "found"), 1, 3)
    assert said == ["block 1 holds other tokens", "block 3 is not cached"]
    said = reasons(node, run, Question(evicted, "?", "evicted"), 0, 2)
    assert said == ["block 0 belongs to s2", "block 2 keeps its content"]


EACH = """
return given.asked.map(([at, answer]) => {
  run.header.questions = [{ at, ask: "?", answer }];
  return player.questionFor(run, run.at(at), at).why;
});
"""


@pytest.mark.parametrize("caching", [False, True])
def test_every_word_has_a_reason(node: Any, caching: bool) -> None:
    """So that none need stand in the source above the player."""
    run, asked = scenes.by_chance(5, caching, 100), []
    for at in range(len(run)):
        for word in ANSWERS:
            try:
                Question(at, "?", word).blocks(run)
            except UsageError:
                continue
            asked.append((at, word))
    for what, why in zip(asked, node(EACH, run, asked=asked), strict=True):
        assert why.endswith(".") and why[0].isupper() and not why.endswith(".."), (what, why)


def why_of(node: Any, run: pagesim.Timeline, question: Question) -> str:
    found = node(AUTOMATIC, run.annotate(questions=[question]))
    return str(found[question.at]["why"])


def test_a_reason_knows_the_lists_of_the_engine(node: Any) -> None:
    runs = {}
    for engine in ("v0", "v1"):
        story = pagesim.Story(gpu_blocks=6, block_size=4, engine=engine, caching=engine == "v1")
        story.arrive(range(8)).leave()
        story.arrive(range(20, 40))  # five blocks: all that V1 has
        runs[engine] = story.run
    for engine, end, then in (("v0", "front", "first"), ("v1", "back", "last")):
        run = runs[engine]
        why = why_of(node, run, Question(run.find(kind="free")[-1], "?", "returned", which="last"))
        assert end in why and why.endswith(f"{then}."), (engine, why)
    taken = runs["v1"].find(kind="take")[-1]
    assert "front" not in why_of(node, runs["v1"], Question(taken, "?", which="last"))
    assert "front" not in why_of(node, small(), Question(3, "?", which="last"))
    assert "behind" in why_of(node, small(), Question(3, "?", which="in order"))
    assert "behind" not in why_of(node, small(), Question(3, "?", which="first"))
    assert "CPU" in why_of(node, scenes.small(), Question(5, "?", "swapped to"))


def test_a_row_is_reserved_whole(node: Any) -> None:
    requests = [pagesim.workload.Request(f"r{i}", 0.0, 6, 5) for i in range(2)]
    run = record_max(requests, pool=80, max_model_len=20, unit=4).timeline
    why = why_of(node, run, Question(run.find(kind="take")[0], "?", which="last"))
    assert "20 slots" in why


@pytest.mark.parametrize(("place", "is_last"), [(0, False), (1, True)])
def test_who_is_preempted_and_why(node: Any, place: int, is_last: bool) -> None:
    head, events = samples.sharing()
    name = [0, "b"][place]
    leaves = [["leave", "running", place, name], ["enter", "waiting", 0, name]]
    preempt = samples.event("preempt", name, *samples.give(0, 1), closed=[0], queues=leaves)
    asked = {"questions": [{"at": 1, "ask": "?", "answer": "returned"}]}
    found = node(AUTOMATIC, (head | asked, [events[0], preempt]))
    assert ("queue running" in found[1]["why"]) is is_last


@pytest.mark.parametrize(
    ("why", "shown"),
    [
        ("the last one is on top", "The last one is on top."),
        ("s0 gave it back", "s0 gave it back."),
        ("{answer} are on top", "Blocks 0 and 1 are on top."),
        ("blocks {answer}: they are on top!", "Blocks 0 and 1: they are on top!"),
    ],
)
def test_an_authors_reason_is_a_sentence(node: Any, why: str, shown: str) -> None:
    run = small().annotate(questions=[Question(2, "?", "returned", why)])
    assert node(AUTOMATIC, run)[2]["why"] == shown


def test_the_name_of_a_sequence_keeps_its_small_letter(node: Any) -> None:
    allocator = pagesim.CpuGpuBlockAllocator.create("naive", 8, 0, 4)
    with pagesim.record(allocator) as run:
        table = pagesim.BlockTable(4, allocator)
        run.label(table, "alice")
        table.allocate([1, 2], pagesim.Device.GPU)
    run.annotate(questions=[Question(0, "?", "taken", "alice came first")])
    assert node(AUTOMATIC, run)[0]["why"] == "alice came first."
