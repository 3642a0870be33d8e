"""1.1: where the slots of one contiguous row are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.timeline.run import Timeline


def waste(prompt: int, answer: int, stored: int, row: int) -> tuple[int, int, int]:
    """How many slots of a row are token, reserved and internal, in this order.

    prompt, answer: tokens of the request in the end; stored: how many of them are in the row now,
    at least the prompt; row: the slots that the request holds.
    """
    ### BEGIN SOLUTION
    token = stored
    reserved = prompt + answer - stored
    internal = row - (prompt + answer)
    return token, reserved, internal
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Short rows first, then random requests at every moment of their lives."""
    small = 6 if hidden else 4
    for row in range(2, small + 1):
        for total in range(row, 1, -1):
            for prompt in range(total - 1, 0, -1):
                for stored in range(prompt, total):
                    yield _case(prompt, total - prompt, stored, row)
    for _ in range(200):
        prompt, answer = rng.randint(1, 40), rng.randint(1, 40)
        row = prompt + answer + rng.randint(0, 40)
        yield _case(prompt, answer, rng.randint(prompt, prompt + answer - 1), row)


def _case(prompt: int, answer: int, stored: int, row: int) -> Case:
    if stored > prompt:
        tag = "some of the answer is there"
    elif row > prompt + answer:
        tag = "a row longer than the request"
    else:
        tag = "a row as long as the request"
    return Case((prompt, answer, stored, row), tag=tag)


def expected(prompt: int, answer: int, stored: int, row: int) -> Any:
    """What the simulation counts in the iteration in which so many tokens are stored."""
    now = _simulated(prompt, answer, row).waste.at(stored - prompt)
    return now.token, now.reserved, now.internal


def _simulated(prompt: int, answer: int, row: int, record: bool = False) -> Any:
    """One request alone, with a row as long as the longest sequence."""
    from pagesim.simulation import simulate
    from pagesim.simulation.baselines.buddy import power_of_two_from
    from pagesim.workload import Request

    requests = [Request("s0", 0.0, prompt, answer)]
    pool = power_of_two_from(row)  # what the buddy allocator grants; only the row can be used
    return simulate(
        requests, policy="max", pool=pool, max_model_len=row, record=record, progress=False
    )


def why(case: Case, yours: Any, right: Any) -> str:
    """The sum, or the kind of slot that is counted wrongly."""
    prompt, answer, stored, row = case.args
    if yours[0] != right[0]:
        return f"The tokens in the row, {stored} of them, include those of the prompt."
    if yours[1] == answer != right[1]:
        written = f"{stored - prompt} of the {count(answer, 'token')}"
        return f"Of the answer {written} are written, and their slots no longer reserved."
    if yours[1] == row - stored != right[1]:
        return (
            f"Reserved slots are those that will be used. The request ends with {prompt} + "
            f"{answer} tokens, so the last {count(right[2], 'slot')} of the row will not: internal."
        )
    if sum(yours) != row:
        return f"Each of the {row} slots is of exactly one kind, but yours add up to {sum(yours)}."
    return (
        f"The request ends with {prompt} + {answer} tokens and has {stored}: "
        f"{count(right[1], 'slot')} will still be used, which is what reserved means."
    )


def play(case: Case) -> Timeline:
    """The request in its row, to the end."""
    prompt, answer, _, row = case.args
    return _simulated(prompt, answer, row, record=True).timeline  # type: ignore[no-any-return]


EXERCISE = Exercise(
    number="1.1",
    title="Where the slots of a row are",
    stars=1,
    statement="""\
A request holds a row of `row` slots from its arrival to its end. It has a prompt of `prompt` tokens
and will have an answer of `answer`; at this moment `stored` tokens are in the row, those of the
prompt included. Write `waste(prompt, answer, stored, row)`: how many slots of the row are
**token**, **reserved** and **internal**, as a tuple in this order, with the meanings of the
chapter's table.

With a prompt of 6 tokens, an answer of 6, 8 tokens stored and a row of 32, it is `(8, 4, 20)`.
(The last token of an answer is never stored. Its slot counts as reserved to the end.)""",
    reference=waste,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "all_the_rest_is_reserved": Wrong(
            variant(
                variant(waste, "prompt + answer - stored", "row - stored"),
                "row - (prompt + answer)",
                "0",
            ),
            "Every slot that is held and empty is reserved for the request.",
            "a row longer than the request",
        ),
        "reserved_from_the_prompt_on": Wrong(
            variant(waste, "prompt + answer - stored", "answer"),
            "The whole answer stays reserved, however much of it is there.",
            "some of the answer is there",
        ),
        "reserved_is_internal": Wrong(
            variant(
                variant(waste, "prompt + answer - stored", "0"),
                "row - (prompt + answer)",
                "row - stored",
            ),
            "An empty slot is wasted, no matter what comes later.",
            "a row as long as the request",
        ),
        "prompt_beside_stored": Wrong(
            variant(waste, "token = stored", "token = prompt + stored"),
            "What is stored comes on top of the prompt.",
            "a row as long as the request",
        ),
    },
    hints=(
        "Each slot of the row is of exactly one kind. What must the three numbers add up to?",
        "At its end the request has prompt + answer tokens. Which slots will it never reach?",
        "token is stored; reserved is what is still missing from prompt + answer; internal is the "
        "row beyond prompt + answer.",
    ),
    vllm=(
        "vllm/core/block/block_table.py: BlockTable.append_token_ids, which replaces the row",
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.append_slots",
    ),
    play=play,
)
