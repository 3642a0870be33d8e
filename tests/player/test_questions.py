"""Questions have their answers from the recorded step, in Python as in the player."""

import gzip
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pagesim
from pagesim import Question, UsageError
from pagesim.timeline import file
from pagesim.timeline.questions import ANSWERS, WHICH
from tests.e2e import scenes
from tests.player import samples
from tests.timeline.scenes import told

AUTOMATIC = """
return run.events.map((_, i) => player.questionFor(run, run.at(i), i));
"""
RIGHT = "return given.tries.map(([question, ids]) => player.isRight(question, ids));"


def small(first: str = "a") -> pagesim.Timeline:
    """Two sequences of two blocks each; one of them leaves, and another arrives."""
    story = pagesim.Story(gpu_blocks=8, block_size=4)
    writers = [story.arrive(range(8)) for _ in range(2)]
    writers[0 if first == "a" else 1].leave()
    story.arrive(range(8))
    return story.run


# -- the answer is the step's ------------------------------------------------------------------


def test_an_answer_follows_what_happens_above_it() -> None:
    asked = Question(at=3, ask="Which block is taken first?", answer="taken", which="first")
    assert asked.blocks(small("a")) == (1,)
    assert asked.blocks(small("b")) == (3,), "the other one left: its blocks are on top"


@pytest.mark.parametrize(
    ("which", "ids"),
    [("all", (0, 1)), ("in order", (0, 1)), ("any", (0, 1)), ("first", (0,)), ("last", (1,))],
)
def test_which_of_the_blocks(which: str, ids: tuple[int, ...]) -> None:
    assert Question(2, "?", "returned", which=which).blocks(small()) == ids


def test_every_word_finds_its_blocks() -> None:
    run = scenes.small()  # 2 appends, 4 copies, 5 swaps out, 6 swaps in
    copy, out, back = run[4].effects, run[5].effects, run[6].effects
    (pair,) = [effect for effect in copy if effect.kind == "copy"]
    assert Question(4, "?", "copied").blocks(run) == (pair.block,)
    assert Question(4, "?", "copied to").blocks(run) == (pair.to,)
    assert Question(3, "?", "shared").blocks(run) == (0, 1)
    for at, effects in ((5, out), (6, back)):
        moved = [effect for effect in effects if effect.kind == "move"]
        assert Question(at, "?", "swapped").blocks(run) == tuple(e.block for e in moved)
        assert Question(at, "?", "swapped to").blocks(run) == tuple(e.to for e in moved)
    prompts = [1, 2, 3, 4], [1, 2, 5, 6], [7, 8, 9, 9, 7, 7]
    cached = told(*prompts, leave=True, gpu_blocks=3, block_size=2, caching=True)
    assert Question(0, "?", "cached").blocks(cached) == (0, 1)
    assert Question(2, "?", "found").blocks(cached) == (0,)
    assert len(Question(4, "?", "evicted").blocks(cached)) == 3


def test_what_was_reserved_and_never_used() -> None:
    story = pagesim.Story(gpu_blocks=8, block_size=4)
    writer = story.arrive([1, 2, 3, 4])
    writer.write([5], lookahead=8)
    writer.leave()
    assert Question(2, "?", "returned").blocks(story.run) == (0, 1, 2, 3)
    assert Question(2, "?", "unused", which="any").blocks(story.run) == (2, 3)


# -- annotate refuses what is not in the step ----------------------------------------------------


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question(3, "?", (2,)),
         "question at=3: allocate of 2 does nothing to block 2; it concerns blocks 1, 0"),
        (Question(2, "?", "taken"),
         "question at=2: free of 0: no block is taken; returned blocks 0, 1"),
        (Question(0, "?", "copied to"), "no block is copied to; taken blocks 0, 1"),
        (Question(2, "?", "unused"), "no block is unused"),
        (Question(4, "?", "taken"), "the run has no such event, its events are 0 to 3"),
    ],
)  # fmt: skip
def test_a_question_about_what_does_not_happen_is_refused(question: Question, message: str) -> None:
    run = small().annotate(title="before")
    notes = run.notes
    with pytest.raises(UsageError) as refused:
        run.annotate(title="after", questions=[question])
    assert message in str(refused.value)
    assert run.notes == notes


def test_a_question_of_the_first_edition_loads_and_is_asked(node: Any, tmp_path: Path) -> None:
    first, *events = gzip.decompress(file.packed(small())).decode().splitlines()
    old = {"at": 2, "ask": "which?", "answer": [1, 0], "why": "because"}
    stale = {"at": 3, "ask": "which?", "answer": [7]}
    head = json.loads(first) | {"questions": [old, stale]}
    (tmp_path / "old.jsonl").write_text("\n".join([json.dumps(head), *events]), encoding="utf-8")
    asked, never = pagesim.load(tmp_path / "old.jsonl").notes.questions
    assert asked == Question(2, "which?", (1, 0), "because", "any")
    assert never.answer == (7,)
    found = node(AUTOMATIC, "\n".join([json.dumps(head), *events]))
    assert (found[2]["ask"], found[2]["answers"], found[2]["which"]) == ("which?", [1, 0], "any")
    assert found[3] is None, "what is not in the step is not asked"


# -- the player finds the same blocks ------------------------------------------------------------


@pytest.mark.parametrize("caching", [False, True])
def test_the_player_finds_the_answers_that_python_finds(node: Any, caching: bool) -> None:
    run = scenes.by_chance(5, caching, events=150)
    rng = random.Random(0)
    asked: dict[int, Question] = {}
    for at in range(len(run)):
        for word in rng.sample(list(ANSWERS), len(ANSWERS)):
            question = Question(at, "?", word, "because", rng.choice(WHICH))
            try:
                question.blocks(run)
            except UsageError:
                continue
            asked[at] = question
            break
    assert {question.answer for question in asked.values()} >= {"taken", "returned", "written"}
    run.annotate(questions=asked.values())
    found = node(AUTOMATIC, run)
    for at, question in asked.items():
        assert tuple(found[at]["answers"]) == question.blocks(run), (at, question)


def test_the_reason_may_name_the_blocks(node: Any) -> None:
    run = small()
    template = Question(2, "?", "returned", "now {answer} are on top")
    found = node(AUTOMATIC, run.annotate(questions=[template]))[2]
    assert found["why"] == "Now blocks 0 and 1 are on top." and found["inWhy"]
    run.annotate(questions=[replace(template, at=3, answer="taken", why="")])
    found = node(AUTOMATIC, run)[3]
    assert "freed last" in found["why"] and not found["inWhy"]


@pytest.mark.parametrize(
    ("which", "asked"),
    [("all", "all"), ("in order", "in order"), ("any", "any"), ("first", "any"), ("last", "any")],
)
def test_how_many_blocks_the_reader_must_choose(node: Any, which: str, asked: str) -> None:
    run = small().annotate(questions=[Question(2, "?", "returned", which=which)])
    assert node(AUTOMATIC, run)[2]["which"] == asked


# -- what the player asks by itself --------------------------------------------------------------


def test_questions_and_their_reasons(node: Any) -> None:
    found = node(AUTOMATIC, samples.sharing())
    answers = [None if question is None else question["answers"] for question in found]
    assert answers == [[0], None, [2], [3], None, [6], [0, 1, 3], [3], [0], [1, 3]]
    assert "Block 1 is shared by 2" in found[2]["why"]
    assert "front of the free list" in found[3]["why"]
    assert "freed last (step 7)" in found[7]["why"]
    assert "last owner" in found[6]["why"] and "0, 1" not in found[6]["why"]
    evicting = node(AUTOMATIC, samples.caching())[8]
    assert evicting["answers"] == [1]
    assert "the evictor gives up 1" in evicting["why"]


@pytest.mark.parametrize(("blocks", "which"), [(6, "all"), (7, "any")])
def test_more_than_six_blocks_need_not_all_be_named(node: Any, blocks: int, which: str) -> None:
    assert node(AUTOMATIC, told([0] * (4 * blocks), leave=True))[1]["which"] == which


def test_what_is_obvious_is_not_asked(node: Any) -> None:
    """A token that leaves a slot empty; at the edge of a block, none and one are asked alike."""
    story = pagesim.Story(gpu_blocks=8, block_size=4)
    for length in (7, 5):
        story.arrive([0] * length).write([9] * 4)
    found = node(AUTOMATIC, story.run)
    appends = [found[i] for i in story.run.find(kind="append_slots")]
    assert [question and question["answers"] for question in appends] == [
        *([], [2], None, None),  # 7 tokens: one fills the block, one needs another
        *(None, None, [], [5]),
    ]
    assert {question["ask"].replace("s0", "s1") for question in appends if question} == {
        "append_slots of s1, 1 token. Which block is taken first, if any?"
    }


def test_where_an_author_asks_the_player_asks_nothing_else(node: Any) -> None:
    run = small().annotate(questions=[Question(2, "?", "returned")])
    asked = [question is not None for question in node(AUTOMATIC, run)]
    assert asked == [False, False, True, False]


def test_a_decision_is_asked_about_without_its_subject(node: Any) -> None:
    head, events = samples.scheduling()
    found = node(AUTOMATIC, (head, events))
    for i in (1, 3):  # admit, preempt
        assert found[i] is not None and "s1" not in found[i]["ask"], found[i]


def test_a_question_may_say_how_many_blocks_it_wants(node: Any) -> None:
    run = small().annotate(questions=[Question(2, "{count} go back: which?", "returned")])
    assert node(AUTOMATIC, run)[2]["ask"] == "two go back: which?"


MISCOUNTED = "return given.tries.map(([question, ids]) => player.miscounted(question, ids));"


def test_too_few_or_too_many_blocks_are_no_answer_yet(node: Any) -> None:
    three = {"answers": [6, 7, 8], "which": "all", "none": False}
    one = {"answers": [6], "which": "all", "none": False}
    either, maybe = three | {"which": "any"}, three | {"none": True}
    tries = [(three, [6]), (three, [6, 7, 8, 9]), (one, [6, 7]), (either, [6, 7])]
    assert node(MISCOUNTED, tries=tries) == [
        "Three blocks are asked, and you named one:",
        "Three blocks are asked, and you named four:",
        "One block is asked, and you named two:",
        "One block is asked, and you named two:",
    ]
    tries = [(three, [6, 7, 9]), (one, [9]), (either, [9]), (maybe, [6]), (maybe, [])]
    assert node(MISCOUNTED, tries=tries) == [""] * 5, "how many are returned is part of the answer"


def test_what_is_typed_is_read(node: Any) -> None:
    code = "const s = run.at(2); "
    code += "return given.tries.map((text) => player.blocksIn(s, text));"
    tries = ["6", "6, 7 8", "#6", "block 6", "s1", "S1", "s3", "x7", "-1", "6.5", ""]
    found = node(code, small(), tries=tries)
    assert found == [[6], [6, 7, 8], [6], [6], [2, 3], [2, 3], *[[]] * 5]


def test_a_question_for_several_blocks_wants_all_of_them(node: Any) -> None:
    def asked(which: str, *answers: int, none: bool = False) -> dict[str, Any]:
        return {"answers": answers, "which": which, "none": none}

    tries: list[tuple[dict[str, Any], list[int], bool]] = [
        (asked("all", 6, 7, 8), [7], False),
        (asked("all", 6, 7, 8), [8, 6, 7], True),
        (asked("all", 6, 7, 8), [6, 7, 8, 9], False),
        (asked("in order", 6, 7), [7, 6], False),
        (asked("in order", 6, 7), [6, 7], True),
        (asked("any", 6, 7), [7], True),
        (asked("any", 6, 7), [6, 7], False),
        (asked("any", none=True), [], True),
        (asked("any", none=True), [6], False),
        (asked("any", 6, none=True), [], False),
        (asked("all", none=True), [], True),
        (asked("all", 6, none=True), [], False),
    ]
    found = node(RIGHT, tries=[[question, ids] for question, ids, _ in tries])
    assert found == [right for _, _, right in tries]
