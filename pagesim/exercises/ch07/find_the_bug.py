"""7.5: find the bug in a scheduler, with the shortest stream of requests that shows it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.ch07.faulty import CAUSES, FAULTY
from pagesim.exercises.ch07.serving import Request, Served, new_scheduler, serve
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant
from pagesim.timeline.pair import Compared
from pagesim.timeline.pair import compare as linked
from pagesim.timeline.run import Timeline
from pagesim.v0.scheduler import Scheduler

MOST_REQUESTS, BLOCK_SIZE = 3, 4
_CHOICE = "\n".join(f'  * `"{name}"`: {words}' for name, words in CAUSES.items())

STATEMENT = f"""
Three schedulers, `"A"`, `"B"` and `"C"`, are broken: each has one fault. Find it, and prove it with
a stream of requests that the broken scheduler serves otherwise than vLLM's:

```python
def show_it(scheduler, num_blocks):
    return requests, cause
```

* `scheduler`: which one, `"A"`, `"B"` or `"C"`; `num_blocks`: how many GPU blocks of {BLOCK_SIZE}
  tokens there are, at least 6;
* `requests`: at most {MOST_REQUESTS} pairs `(prompt, answer)`, both in tokens. They all wait from
  the beginning. Prompt and answer together must fit the pool;
* `cause`: one of
{_CHOICE}

To see a broken scheduler beside vLLM's, step by step:

```python
from pagesim.exercises.ch07.find_the_bug import side_by_side

print(side_by_side("A", [(8, 3), (8, 3)], 6))
```

The broken classes are in the package. Reading them tells you the cause, but not a stream that shows
it.
"""


def show_it(scheduler: str, num_blocks: int) -> tuple[list[tuple[int, int]], str]:
    """At most three (prompt, answer) that show the fault of the scheduler "A", "B" or "C"."""
    ### BEGIN SOLUTION
    if scheduler == "A":  # s1 is preempted, and s2 waits: which comes first?
        return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "back"
    if scheduler == "B":  # s1 does not fit, s2 would
        return [(4 * num_blocks - 8, 3), (12, 3), (4, 3)], "overtake"
    return [(4 * num_blocks - 16, 3), (5, 3), (5, 3)], "oldest"  # s0 grows: which gives way?
    ### END SOLUTION


def compare(
    letter: str, requests: list[Request], num_blocks: int, most: int = 500, recorded: bool = False
) -> tuple[Served, Served]:
    """The stream served by vLLM's scheduler and by the broken one."""
    kinds: tuple[type[Scheduler], ...] = (Scheduler, FAULTY[letter][0])
    schedulers = (new_scheduler(num_blocks, block_size=BLOCK_SIZE, kind=kind) for kind in kinds)
    vllm, broken = (serve(s, requests, most=most, recorded=recorded) for s in schedulers)
    return vllm, broken


def side_by_side(letter: str, requests: list[Request], num_blocks: int) -> str:
    """Who computes how many tokens in each step, by vLLM's scheduler and by the broken one."""
    vllm, broken = compare(letter, requests, num_blocks)
    lines = [f"{'step':>4}   {'vLLM':24}{letter}"]
    for number in range(max(vllm.steps, broken.steps)):
        cells = [_told(served.told[number : number + 1]) for served in (vllm, broken)]
        mark = "   <- differs" if cells[0] != cells[1] else ""
        lines.append(f"{number + 1:4}   {cells[0]:24}{cells[1]}{mark}")
    return "\n".join(lines)


def _told(step: list[Any]) -> str:
    return " ".join(f"s{name}:{tokens}" for computed in step for name, tokens in computed)


def fault(yours: Any, letter: str, num_blocks: int) -> str:
    """What is wrong with an answer; nothing if it shows the fault and names it."""
    if not (isinstance(yours, list) and len(yours) == 2 and isinstance(yours[0], list)):
        return "The answer is a list of requests and a cause."
    requests, cause = yours
    if not 1 <= len(requests) <= MOST_REQUESTS:
        return f"One to {MOST_REQUESTS} requests are enough, not {len(requests)}."
    for pair in requests:
        if not (isinstance(pair, list) and len(pair) == 2 and {*map(type, pair)} == {int}):
            return "A request is a pair of two ints: (prompt, answer)."
        if (
            min(pair) < 1
            or max(pair) > BLOCK_SIZE * num_blocks
            or sum(pair) > (BLOCK_SIZE * num_blocks)
        ):
            return (
                f"A request of {pair[0]} + {pair[1]} tokens is out of range: both are at least 1, "
                f"and {num_blocks} blocks have {BLOCK_SIZE * num_blocks} slots."
            )
    vllm, broken = compare(letter, [(prompt, answer) for prompt, answer in requests], num_blocks)
    if vllm.told == broken.told:
        return (
            f"Both schedulers serve these requests in the same {vllm.steps} steps: they do not "
            f"show the fault."
        )
    if cause not in CAUSES:
        return f"The cause is one of {', '.join(CAUSES)}."
    if cause != FAULTY[letter][1]:
        step = next(
            i for i, (a, b) in enumerate(zip(vllm.told, broken.told, strict=False)) if a != b
        )
        return (
            f"They differ, first in step {step + 1}: {_told(vllm.told[step : step + 1])} by vLLM, "
            f"{_told(broken.told[step : step + 1])} by {letter}. But the cause is another one."
        )
    return ""


def expected(letter: str, num_blocks: int) -> Goal:
    return Goal(
        accepts=lambda yours: not fault(yours, letter, num_blocks),
        like=([(1, 1)], "cause"),
        words=f"up to {MOST_REQUESTS} requests that {letter} serves otherwise than vLLM, and why",
    )


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    for letter in FAULTY:
        for num_blocks in (rng.randint(7, 20),) if hidden else (6, 8):
            yield Case(
                (letter, num_blocks), f"scheduler {letter} with {num_blocks} blocks", f"{letter}"
            )


def why(case: Case, yours: Any, right: Any) -> str:
    from pagesim.exercises.values import plain

    return fault(plain(yours), *case.args)


def play(case: Case) -> Timeline:
    """The broken scheduler with three requests that fill the pool."""
    letter, num_blocks = case.args
    scheduler = new_scheduler(num_blocks, block_size=BLOCK_SIZE, kind=FAULTY[letter][0])
    requests = [(2 * num_blocks, 6), (num_blocks, 6), (num_blocks, 6)]
    run = serve(scheduler, requests, most=100, recorded=True).run
    assert run is not None
    return run.annotate(title=f"Scheduler {letter} with three requests that fill the pool")


def replay(_: Any, case: Case, yours: Any) -> Compared:
    """The stream of the answer, by vLLM's scheduler and by the broken one."""
    letter, num_blocks = case.args
    both = compare(letter, [tuple(pair) for pair in yours[0]], num_blocks, 100, recorded=True)
    return linked(both[0].run, both[1].run, ("Your requests in vLLM", f"in {letter}"))


def _enough_room(scheduler: str, num_blocks: int) -> tuple[list[Request], str]:
    return [(4, 3), (4, 3), (4, 3)], show_it(scheduler, num_blocks)[1]


EXERCISE = Exercise(
    number="7.5",
    title="Find the bug: three schedulers",
    stars=3,
    statement=STATEMENT,
    reference=show_it,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "enough_room": Wrong(
            _enough_room, "Any three requests show the fault of a scheduler.", "A"
        ),
        "symptom": Wrong(
            variant(show_it, '"back"', '"overtake"'),
            "s2 comes before s1, so it has overtaken it.",
            "A",
        ),
        "one_fits": Wrong(
            variant(show_it, "(12, 3), (4, 3)", "(4, 3), (4, 3)"),
            "It is enough that the pool is full.",
            "B",
        ),
        "last_is_next": Wrong(
            variant(show_it, "(5, 3), (5, 3)", "(9, 3)"),
            "Two requests are enough to tell the oldest from the last.",
            "C",
        ),
    },
    hints=(
        "A fault in the order shows only where there is a choice: three requests, and a full pool.",
        "Fill all blocks but a few with s0, and let it grow. Then vary how large s1 and s2 are.",
        "A: s1 must be preempted while s2 waits. B: s1 must not fit while s2 would. C: s1 and s2 "
        "must both run when s0 needs a block.",
    ),
    vllm=(
        "vllm/core/scheduler.py: Scheduler._schedule_default",
        "vllm/core/scheduler.py: Scheduler._schedule_prefills",
        "vllm/core/scheduler.py: Scheduler._schedule_running",
    ),
    play=play,
    replay=replay,
)
