"""1.2: how long a row Orca (Pow2) asks for, and how many of them run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.timeline.run import Timeline


def pow2_row(prompt: int, answer: int, longest: int, pool: int) -> tuple[int, int]:
    """The slots that Orca (Pow2) asks for, and how many such requests run at a time.

    prompt, answer: tokens of each request; longest: the longest sequence that the model allows;
    pool: slots of the cache. All requests are alike, and there are enough of them.
    """
    ### BEGIN SOLUTION
    guess = 1
    while guess < answer:
        guess *= 2
    asked = min(prompt + guess, longest)
    granted = 1
    while granted < asked:
        granted *= 2
    return asked, pool // granted
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Short sequences first, in a pool of a few rows; then random ones."""
    pool = 48 if hidden else 64
    for total in range(2, 12):
        for answer in range(1, total):
            yield _case(total - answer, answer, 16, pool)
    for _ in range(30):
        longest = rng.choice((16, 32, 64, 100))
        prompt = rng.randint(1, longest - 1)
        answer = rng.randint(1, longest - prompt)
        yield _case(prompt, answer, longest, rng.randint(128, 600))


def _case(prompt: int, answer: int, longest: int, pool: int) -> Case:
    guess = _up(answer)
    tag = "a plain one"
    if prompt + guess > longest:
        tag = "longer than the model allows"
    elif guess != answer:
        tag = "the answer is no power of two"
    elif _up(prompt + guess) != prompt + guess:
        tag = "the row is no power of two"
    return Case((prompt, answer, longest, pool), tag=tag)


def _up(n: int) -> int:
    return 1 << (n - 1).bit_length()


def expected(prompt: int, answer: int, longest: int, pool: int) -> Any:
    """What the simulation asks for, and its largest batch."""
    from pagesim.simulation.baselines.contiguous import ask_pow2
    from pagesim.workload import Request

    asked = ask_pow2(Request("s0", 0.0, prompt, answer), longest)
    run = _simulated(prompt, answer, longest, pool, pool // (prompt + answer) + 1)
    return asked, int(run.waste.column("batch").max())


def _simulated(
    prompt: int, answer: int, longest: int, pool: int, num: int, record: bool = False
) -> Any:
    """So many requests of this kind, all there from the start."""
    from pagesim.simulation import simulate
    from pagesim.workload import Request

    return simulate(
        [Request(f"s{i}", 0.0, prompt, answer) for i in range(num)],
        policy="pow2", pool=pool, max_model_len=longest, max_num_seqs=num,
        max_num_batched_tokens=num * longest, record=record, progress=False,
    )  # fmt: skip


def why(case: Case, yours: Any, right: Any) -> str:
    """The row first, then how many of them there are."""
    prompt, answer, longest, pool = case.args
    asked, batch = right
    if yours[0] != asked:
        if yours[0] == _up(prompt + answer):
            return (
                f"The server knows the prompt, so only the answer is guessed: {prompt} + "
                f"{_up(answer)}, not {prompt} + {answer} rounded up together."
            )
        if asked == longest:
            return f"No sequence can become longer than {longest}, so no more is ever asked for."
        return (
            f"The smallest power of two that holds an answer of {answer} is {_up(answer)}; with "
            f"the prompt that is {asked}."
        )
    return (
        f"A buddy allocator grants powers of two: {asked} slots cost {_up(asked)}, and {pool} "
        f"slots have {count(batch, 'such piece')}."
    )


def play(case: Case) -> Timeline:
    """As many requests as find room, and one that waits."""
    prompt, answer, longest, pool = case.args
    num = expected(*case.args)[1] + 1
    return _simulated(prompt, answer, longest, pool, num, record=True).timeline  # type: ignore[no-any-return]


EXERCISE = Exercise(
    number="1.2",
    title="The row of Orca (Pow2)",
    stars=2,
    statement="""\
Orca (Pow2) stands for a server that guesses the length of an answer to within a factor of two. It
asks for a row of the prompt's length plus the smallest power of two that holds the answer, but
never for more than `longest`, the model's longest sequence. Its **buddy allocator** grants powers
of two only: a request for 12 slots takes 16 from the pool.

Write `pow2_row(prompt, answer, longest, pool)`: the slots that one request asks for, and how many
requests of this kind run at a time in a pool of `pool` slots, as a tuple.

`pow2_row(8, 3, 64, 64)` is `(12, 4)`: 8 + 4 slots are asked for, each row takes 16, and 4 of these
fit.""",
    reference=pow2_row,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "rounds_both_together": Wrong(
            variant(
                variant(pow2_row, "guess < answer", "guess < prompt + answer"),
                "min(prompt + guess, longest)",
                "min(guess, longest)",
            ),
            "The next power of two is that of the whole sequence.",
            "the row is no power of two",
        ),
        "granted_as_asked": Wrong(
            variant(pow2_row, "pool // granted", "pool // asked"),
            "A request costs the pool what it asks for.",
            "the row is no power of two",
        ),
        "strictly_more": Wrong(
            variant(pow2_row, "guess < answer", "guess <= answer"),
            "The guess must be larger than the answer.",
            "a plain one",
        ),
        "no_limit": Wrong(
            variant(pow2_row, "min(prompt + guess, longest)", "prompt + guess"),
            "A guess is a guess, however long a sequence may become.",
            "longer than the model allows",
        ),
    },
    hints=(
        "Two different things are rounded up here, by two different parts of the server. Which?",
        "The server rounds up the answer alone. The allocator rounds up what it is asked for.",
        "asked = min(prompt + the smallest power of two that is at least answer, longest). The "
        "pool has room for pool // (the smallest power of two that is at least asked).",
    ),
    vllm=(
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate, which has no guess to "
        "make",
    ),
    play=play,
)
