"""1.3: requests for which rows are as good as pages, and for which foresight does harm."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from pagesim.exercises import replays
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant
from pagesim.timeline.run import Timeline

BUDGET = 2048
"""Tokens of an iteration, where nothing else is said."""
ROWS = "rows as good as pages"
ORACLE = "oracle worse than pow2"
Stream = tuple[int, int, list[tuple[int, int]]]


def stream(wanted: str, block_size: int) -> tuple[int, int, list[tuple[int, int]]] | None:
    """A pool, the longest sequence, and requests: (slots, tokens, [(prompt, answer), …]).

    None if there is no such stream. Pages have block_size slots.
    """
    ### BEGIN SOLUTION
    if wanted == "rows as good as pages":
        # Every sequence is as long as a row, and it is so from the start: one token of answer.
        return 8 * 64, 64, [(63, 1)] * 50
    # The oracle asks for less, so it lets a request in earlier, into a hole that a longer one of
    # the next round would have needed.
    return 32, 16, [(9, 2), (3, 3), (1, 3)] * 17
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """The two questions."""
    for block_size in (32, 8) if hidden else (16,):
        yield Case((ROWS, block_size), tag=ROWS)
        yield Case((ORACLE, block_size), tag=ORACLE)


def call(function: Callable[..., Any], case: Case) -> Any:
    """The student's stream, by name: a missing one is also an answer."""
    return {"stream": function(*case.args)}


def _judged(wanted: str, block_size: int, stream: Any) -> str:
    """Simulate the student's stream, and say whether it shows what was wanted."""
    if stream is None:
        return "there is no such stream"
    pool, longest, requests = stream
    if len(requests) < 50:
        return f"only {len(requests)} requests"
    if pool > 10_000 or len(requests) > 1000:
        return f"too large: {pool} slots, {len(requests)} requests"
    names = ("max", "paged") if wanted == ROWS else ("oracle", "pow2")
    shares = [
        _simulated(name, pool, longest, requests, block_size).waste.mean()["token"]
        for name in names
    ]
    told = " and ".join(f"{n} {s:.1f} %" for n, s in zip(names, shares, strict=True))
    good = abs(shares[0] - shares[1]) < 1 if wanted == ROWS else shares[0] <= shares[1] - 1
    if not good:
        return f"not shown: {told} of the slots hold tokens"
    return f"half empty: {told}" if wanted == ROWS and shares[1] < 90 else "shown"


def _simulated(
    policy: str,
    pool: int,
    longest: int,
    requests: list[tuple[int, int]],
    block_size: int = 16,
    record: bool = False,
) -> Any:
    from pagesim.simulation import Paged, simulate
    from pagesim.workload import Request

    memory = Paged(block_size, watermark=0.0) if policy == "paged" else policy
    return simulate(
        [Request(f"s{i}", 0.0, *lengths) for i, lengths in enumerate(requests)],
        policy=memory, pool=pool, max_model_len=longest, record=record, progress=False,
    )  # fmt: skip


def expected(wanted: str, block_size: int) -> Goal:
    """Both can be shown."""
    return Goal(
        accepts=lambda yours: _judged(wanted, block_size, yours["stream"]) == "shown",
        like={"stream": EXAMPLE},
        words="a stream that shows it",
    )


def why(case: Case, yours: Any, right: Any) -> str:
    """What the stream lacks."""
    from pagesim.simulation.baselines.buddy import power_of_two_from

    wanted, block_size = case.args
    got = _judged(wanted, block_size, yours["stream"])
    if got.startswith("there is no"):
        return (
            "There is: a smaller row is let in earlier, and may take the hole that a larger "
            "request behind it needs. Search small pools, with two or three kinds of requests."
        )
    if got.startswith("only"):
        return "Give at least 50 requests, so that the pool is full most of the time."
    if got.startswith("too large"):
        return "At most 10,000 slots and 1,000 requests, please: a small stream shows as much."
    pool, longest, requests = yours["stream"]
    if wanted == ROWS and (costs := power_of_two_from(longest)) > longest:
        return (
            f"{got.capitalize()}. A row of {longest} slots costs {costs}: a buddy allocator grants "
            "rows, and has powers of two only."
        )
    if wanted == ROWS and (rest := pool % longest):
        return f"{got.capitalize()}. Beside the last row {rest} slots of the pool are left over."
    if wanted == ROWS and pool > BUDGET and len(requests) >= pool // longest:
        return (
            f"{got.capitalize()}. An iteration computes at most {BUDGET:,} tokens of prompts, so "
            "requests that leave soon never fill a larger pool."
        )
    if got.startswith("half empty"):
        return "With pages, at least 90 % of the slots must hold tokens, or few requests wait."
    if wanted == ROWS:
        return (
            f"{got.capitalize()}. Rows lose what a request does not use yet, what it will never "
            "use, and what is left of the pool beside the last row: all three must be next to "
            "nothing."
        )
    return (
        f"{got.capitalize()}. Exact rows must leave at least 1 % of the pool more without a token "
        "than guessed ones."
    )


def play(case: Case) -> Timeline:
    """A stream that does show it: its beginning in rows, or as the oracle serves it."""
    wanted = case.args[0]
    pool, longest, requests = (128, 64, [(63, 1)]) if wanted == ROWS else EXAMPLE
    policy = "max" if wanted == ROWS else "oracle"
    return _simulated(policy, pool, longest, requests * 6, record=True).timeline  # type: ignore[no-any-return]


EXAMPLE: Stream = (32, 16, [(9, 2), (3, 3), (1, 3)])

_LONGEST = "[(63, 1)] * 50"

EXERCISE = Exercise(
    number="1.3",
    title="Two streams against the rule",
    stars=2,
    statement="""\
"Pages beat rows, and the more a server knows the better its rows." Find requests for which this
is not so. Write `stream(wanted, block_size)`. It returns `(pool, longest, requests)`: the slots of
the pool (at most 10,000), the longest sequence that the model allows, and at least 50 requests as
`(prompt, answer)`, in tokens. All of them wait from the start.

* `wanted` is `"rows as good as pages"`: the shares of the pool that hold tokens under `max` and
  under `paged`, in pages of `block_size` slots, differ by less than 1 point, and that of `paged`
  is at least 90 %.
* `wanted` is `"oracle worse than pow2"`: under `oracle` the share is at least 1 point *lower* than
  under `pow2`. If you are sure that this cannot be, return None.

`pagesim.simulate([Request("s0", 0.0, prompt, answer), …], policy="max", pool=pool,
max_model_len=longest).waste.mean()["token"]` is the share in percent. (The checker runs `paged`
with `watermark=0.0`.) Rows come from the buddy allocator of exercise 1.2: one of 12 slots costs 16.
An iteration computes at most 2,048 tokens of prompts.""",
    reference=stream,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "long_answers": Wrong(
            variant(stream, _LONGEST, "[(32, 32)] * 50"),
            "It is enough that every sequence becomes as long as its row in the end.",
            ROWS,
        ),
        "short_requests": Wrong(
            variant(stream, _LONGEST, "[(15, 1)] * 50"),
            "An answer of one token reserves next to nothing, so next to nothing is lost.",
            ROWS,
        ),
        "too_few": Wrong(
            variant(stream, _LONGEST, "[(63, 1)] * 8"),
            "A handful of requests tells enough.",
            ROWS,
        ),
        "nothing_waits": Wrong(
            variant(stream, "8 * 64, 64", "8 * 1000, 64"),
            "When all requests have room, any memory is as good as any other.",
            ROWS,
        ),
        "cannot_be": Wrong(
            variant(stream, "return 32, 16, [(9, 2), (3, 3), (1, 3)] * 17", "return None"),
            "A server that reserves exactly what is needed never does worse than one that guesses.",
            ORACLE,
        ),
    },
    hints=(
        "For the first: when is a row neither reserved nor internal? For the second: what happens "
        "to the request behind the one that was let in a little too early?",
        "For the first, think of prompts that fill the row and answers of one token, of rows that "
        "are a power of two, and of a pool that is a whole number of them. For the second, draw "
        "random streams of two or three kinds of requests in pools of two or three rows, and keep "
        "the worst.",
        "For the first, (8 * 64, 64, [(63, 1)] * 50). For the second, search with longest 16, a "
        "pool of 32, and one long and two short kinds of requests in turn.",
    ),
    vllm=(
        "vllm/core/scheduler.py: Scheduler._schedule_prefills, first come first served as here",
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate",
    ),
    play=play,
    replay=replays.streams,
    call=call,
)
