"""7.3: a better victim than the last one in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pagesim.exercises.ch07.chosen_victims import Candidate, ChosenVictims, Pick
from pagesim.exercises.ch07.serving import Request, Served, new_scheduler, serve
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant
from pagesim.timeline.run import Timeline

NUM_BLOCKS, NUM_REQUESTS, MOST_TIMES, MOST_STEPS = 30, 40, 5, 1000

STATEMENT = f"""
A running sequence needs a block and none is free. vLLM preempts the **last** of `running`: all its
tokens are computed again later. Choose better:

```python
def pick_victim(running):
    return place
```

`running` lists the candidates, the oldest first, as `(tokens, blocks, times)`: how many tokens the
request has, how many blocks it holds, and how often it was preempted before. Return the place of
the victim in the list. (The request that needs the block is not in the list. If nothing else runs,
it is preempted itself, and you are not asked.)

The checker serves a stream of {NUM_REQUESTS} requests with {NUM_BLOCKS} blocks of 4 tokens. You
must

* waste fewer tokens than vLLM's rule does: wasted are those that were computed and thrown away;
* let no request starve: none may be preempted more than {MOST_TIMES} times;
* finish within {MOST_STEPS:,} steps.

Example: vLLM's rule is `return len(running) - 1`. To try yours on the stream that `check` takes:

```python
from pagesim.exercises.ch07.pick_victim import STREAM, measure

served = measure(STREAM, pick_victim)
print(served, max(served.preempted.values()))
```
"""

STREAM, HIDDEN = 150, (123, 9, 78)
"""Streams on which the last one in is a bad victim and the smallest one starves, but no rule that
spares those which were preempted twice or three times."""


def requests(stream: int) -> list[Request]:
    """The stream of this number: (prompt, answer) in tokens."""
    rng = random.Random(stream)
    lengths = [
        (int(rng.lognormvariate(2.0, 0.9)), int(rng.lognormvariate(2.5, 0.8)))
        for _ in range(NUM_REQUESTS)
    ]
    return [(max(1, min(120, prompt)), max(1, min(200, answer))) for prompt, answer in lengths]


def measure(stream: int, pick: Pick, *, recorded: bool = False) -> Served:
    """Serve a stream; the victims are those that ``pick`` names."""
    scheduler = new_scheduler(NUM_BLOCKS, max_num_seqs=64, kind=ChosenVictims)
    assert isinstance(scheduler, ChosenVictims)
    scheduler.pick = pick
    most = 60 if recorded else MOST_STEPS
    return serve(scheduler, requests(stream), most=most, recorded=recorded)


def last_in(running: list[Candidate]) -> int:
    """vLLM's rule."""
    return len(running) - 1


@lru_cache(maxsize=16)
def _baseline(stream: int) -> Served:
    return measure(stream, last_in)


def pick_victim(running: list[tuple[int, int, int]]) -> int:
    """The place of the victim in `running`, whose entries are (tokens, blocks, times)."""

    ### BEGIN SOLUTION
    def cost(place: int) -> tuple[bool, int]:
        tokens, _, times = running[place]
        return times >= 2, tokens

    return min(range(len(running)), key=cost)
    ### END SOLUTION


def call(pick: Pick, case: Case) -> list[Any]:
    """The victims that were picked one after the other, each by its place."""
    (stream,) = case.args
    picked: list[int] = []

    def noted(running: list[Candidate]) -> int:
        picked.append(pick(list(running)))
        return picked[-1]

    measure(stream, noted)
    return picked


def _replay(stream: int, picked: list[Any], *, recorded: bool = False) -> Served | None:
    """The same run from the places alone; None if they do not fit it."""
    left = iter(picked[: 10 * MOST_STEPS])

    def again(running: list[Candidate]) -> int:
        place = next(left, None)
        if type(place) is not int or not -len(running) <= place < len(running):
            raise LookupError
        return place

    try:
        return measure(stream, again, recorded=recorded)
    except LookupError:
        return None


def fault(yours: Any, stream: int) -> str:
    """What is wrong with these victims, as a sentence; nothing if they are good ones."""
    served = _replay(stream, yours) if isinstance(yours, list) else None
    if served is None:
        return "A victim is named by its place in the list, an int."
    lost = _baseline(stream)
    if not served.finished:
        waits = max(served.preempted, key=lambda number: served.preempted[number])
        return (
            f"After {MOST_STEPS:,} steps the stream is not done: s{waits} was preempted "
            f"{served.preempted[waits]} times."
        )
    if served.preempted and max(served.preempted.values()) > MOST_TIMES:
        number = max(served.preempted, key=lambda number: served.preempted[number])
        return (
            f"s{number} was preempted {served.preempted[number]} times: it starves. Once a request "
            f"was preempted often enough, another one's turn has come."
        )
    if served.ignored > lost.ignored:
        return "A request was preempted so late that it outgrew the GPU, and was given up."
    if served.wasted >= lost.wasted:
        return (
            f"Your victims lose {served.wasted:,} computed tokens, the last ones in "
            f"{lost.wasted:,}: what a victim costs is what it has computed."
        )
    return ""


def expected(stream: int) -> Goal:
    return Goal(
        accepts=lambda yours: not fault(yours, stream),
        like=[0],
        words=f"fewer than {_baseline(stream).wasted:,} tokens wasted, no request preempted more "
        f"than {MOST_TIMES} times",
    )


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    for stream in HIDDEN if hidden else (STREAM,):
        yield Case((stream,), f"stream {stream}: {NUM_REQUESTS} requests", "the stream")


def why(case: Case, yours: Any, right: Any) -> str:
    return fault(list(yours), *case.args)


def play(case: Case) -> Timeline:
    run = measure(case.args[0], last_in, recorded=True).run
    assert run is not None
    return run.annotate(title="The last one in is the victim: the first 60 steps")


def replay(_: Any, case: Case, yours: list[Any]) -> Timeline | None:
    served = _replay(case.args[0], yours, recorded=True)
    run = served.run if served else None
    return run.annotate(title="With your victims") if run else None


EXERCISE = Exercise(
    number="7.3",
    title="A better victim",
    stars=3,
    statement=STATEMENT,
    reference=pick_victim,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "last_in": Wrong(last_in, "The last one in has computed least.", "the stream"),
        "longest": Wrong(
            variant(pick_victim, "return times >= 2, tokens", "return False, -tokens"),
            "The longest request makes the most room.",
            "the stream",
        ),
        "shortest": Wrong(
            variant(pick_victim, "times >= 2, tokens", "False, tokens"),
            "The cheapest request to compute again is always the best victim.",
            "the stream",
        ),
        "oldest": Wrong(
            variant(pick_victim, "times >= 2, tokens", "False, 0"),
            "The request that has run longest has had its share.",
            "the stream",
        ),
        "places_from_one": Wrong(
            variant(
                pick_victim,
                "return min(range(len(running)), key=cost)",
                "return 1 + min(range(len(running)), key=cost)",
            ),
            "Places are counted from 1.",
            "the stream",
        ),
    },
    hints=(
        "What does a victim cost? And what happens to the cheapest one when it comes back?",
        "Take the request with the fewest tokens, but not the same one again and again.",
        "Among those that were preempted fewer than 2 or 3 times, the one with the fewest tokens; "
        "if there is none, the one with the fewest tokens of all.",
    ),
    vllm=(
        "vllm/core/scheduler.py: Scheduler._schedule_running",
        "vllm/core/scheduler.py: Scheduler._preempt_by_recompute",
    ),
    play=play,
    replay=replay,
    call=call,
    seconds=30.0,
)
