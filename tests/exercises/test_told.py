"""What the first chapters tell a student whose mistake they know, and one whose they do not."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from pagesim import exercises
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.goal import Goal
from pagesim.exercises.guard import Answer
from pagesim.exercises.values import plain
from tests.exercises.answers import needs, written

WORDS = {
    ("0.1", "from_zero"): "no block has two owners here",
    ("0.1", "one_too_many"): "none is taken before there is a word for it",
    ("0.2", "event_for_step"): "run.at(1) is the first state that shows what event 0 did",
    ("0.2", "frees_left_out"): "Block 0 becomes free at step 2",
    ("0.3", "outside"): "refuses your first ones: block_tables[0, 0] = 8",
    ("0.3", "untouched_twice"): "Your second tables give NaN",
    ("0.3", "other_way_round"): "Your first tables give no NaN",
    ("0.3", "its_own_block"): "Your second tables: 0 ids changed",
    ("1.1", "all_the_rest_is_reserved"): "1 slot will never hold a token. That is internal",
    ("1.1", "reserved_from_the_prompt_on"): "is no longer reserved. The output has 1 token already",
    ("1.2", "rounds_both_together"): "Only the output is rounded up",
    ("1.2", "granted_as_asked"): "3 slots cost 4",
    ("1.3", "cannot_be"): "a smaller request is admitted earlier",
    ("1.3", "nothing_waits"): "at least 90 %",
    ("2.2", "length_after"): "If length % block_size is 1",
    ("2.2", "wrong_for_one"): "division by 1",
    ("2.3", "first_in_first_out"): "A freed block goes to the front",
    ("2.3", "sorted"): "The list is never sorted",
    ("2.4", "decode_at_the_length"): "at position 1",
    ("2.4", "padding_is_slot_0"): "Entry 2 is padding",
    ("3.1", "acc_not_rescaled"): "both ell and acc",
    ("3.2", "page_for_block"): "logical block 0 are in block 2",
    ("3.2", "whole_last_page"): "block 0 holds 1 token",
    ("14.1", "a_row_for_each_lane"): "a row has 2 lanes and a warp reads 16 rows at a time",
    ("14.1", "x_of_the_query"): "at 1 byte each",
    ("14.2", "natural_order"): "come 4 of the next",
    ("14.3", "lines"): "2 is the number of lines",
    ("14.3", "a_sector_for_each_lane"): "the 2 lanes of a token share it",
    ("4.1", "the_last_one_too"): "A block with one owner is written in place",
    ("4.1", "full_blocks_too"): "block 0 stays shared",
    ("4.2", "never_copies"): "Block 0 has other owners",
    ("4.2", "copies_every_shared_block"): "only the last block is copied",
    ("4.2", "forgets_the_count"): "Block 0 is in 1 of the tables",
    ("4.3", "symptom_for_cause"): "the cause is another",
    ("1.3", "a row of 320, which costs 512"): "512",
    ("1.3", "more rows than prompts can be computed for in an iteration"): "2,048",
    ("1.3", "a pool that is no whole number of rows"): "128 slots",
    ("2.5", "padding_is_written"): "Slot -1 means: write nothing",
    ("2.5", "the line above the kernel is lost"): "@triton.jit",
    ("2.5", "32 bits for the slot"): "int32",
    ("2.5", "the value of a far slot is forgotten"): "0 of its 8",
    ("3.1", "a second look, the maximum first"): "score 0 is read after score 1",
    ("3.2", "all scores at once"): "one block after the other",
    ("3.2", "never asks for the length: what is not NaN is taken for a token"): "length",
    ("3.3", "all sequences answer in row 0"): "Row 1 of out",
    ("3.3", "the last token is not seen"): "0 of its 1",
    ("3.3", "positions from the block in place of the page"): "0 of its 1",
    ("3.3", "the first value of each page for all"): "in v_cache",
    ("3.3", "keys without a mask, whose scores are left out"): "block 5, row 1",
    ("4.2", "does nothing"): "block 1",
    ("4.2", "from the back of the free list"): "first of the free list",
    ("4.2", "takes a block one token early"): "stays as long as it was",
    ("4.2", "returns the pair itself"): "[(from, to)]",
    ("5.1", "right as vLLM has it"): "later will be no better",
    ("5.4", "32 bits for the block"): "int32",
    ("5.4", "no mask on the load"): "a read outside",
}


@pytest.mark.parametrize(("number", "name"), WORDS, ids=[".".join(key) for key in WORDS])
def test_the_verdict_names_the_cause(number: str, name: str) -> None:
    """Of a typical wrong answer, or of one in tests/data/answers."""
    exercise = exercises.get(number)
    needs(exercise)
    others = {answer.note: answer for answer in written(number)}
    wrong = exercise.wrong[name] if name in exercise.wrong else others[name].load()
    verdict = exercise.check(wrong)
    assert WORDS[number, name] in verdict.yours + verdict.why


def slips(value: Any) -> Iterator[Any]:
    """The same value with one number, text or order another."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, -value)
    elif isinstance(value, dict):
        yield from ({**value, key: slip} for key in value for slip in slips(value[key]))
    elif isinstance(value, list):
        yield value[::-1]
        for i, item in enumerate(value[:4]):
            yield from ([*value[:i], slip, *value[i + 1 :]] for slip in slips(item))


EARLY = [e for e in exercises.all() if e.chapter <= 5 and not e.needs_triton]


@pytest.mark.parametrize("exercise", EARLY, ids=lambda e: e.number)
def test_an_unknown_mistake_is_answered_by_a_sentence(exercise: Exercise) -> None:
    cases = list(exercise.cases(random.Random(0), False))
    for case in random.Random(0).sample(cases, min(len(cases), 3)):
        expected = exercise.expected(*copy.deepcopy(case.args))
        is_goal = isinstance(expected, Goal)
        for slip in slips(expected.like if is_goal else plain(expected)):
            verdict = exercise.judge(case, Answer(slip))
            if verdict is not None:
                why = verdict.why
                assert len(why.split()) > 4 and why.endswith("."), why
                assert is_goal or "does not have the right shape" not in why, (slip, why)


@pytest.mark.parametrize("hidden", [False, True], ids=["shown", "hidden"])
@pytest.mark.parametrize(
    "exercise", [e for e in exercises.all() if e.chapter <= 5 and e.play], ids=lambda e: e.number
)
def test_every_case_can_be_played(exercise: Exercise, hidden: bool) -> None:
    assert exercise.play is not None
    cases = list(exercise.cases(random.Random(2), hidden))
    for case in random.Random(0).sample(cases, min(len(cases), 8)):
        assert len(exercise.play(case)) > 0, case


def test_a_goal_has_no_element_to_differ_from() -> None:
    """Its `like` says of what kind an answer is, and not what it is."""
    log = exercises.get("8.4")
    log_of_a_gpu = log.reference()
    verdict = log.check(lambda: (*log_of_a_gpu[:2], 1, 2))
    assert verdict.why.startswith("With this model") and "Yours are 1 to 2" in verdict.why


def test_both_numbers_of_a_hint_are_right() -> None:
    def pick(limit: int) -> Any:
        return lambda running: min(
            range(len(running)), key=lambda place: (running[place][2] >= limit, running[place][0])
        )

    for limit in (2, 3):
        exercises.get("7.3").assert_right(pick(limit))
