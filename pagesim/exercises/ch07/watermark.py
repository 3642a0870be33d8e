"""7.2: the watermark that lets a stream of requests finish in the fewest steps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pagesim.exercises.ch07.serving import Request, Served, new_scheduler, serve
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.values import shown
from pagesim.timeline.run import Timeline

STATEMENT = """
The watermark is the part of the GPU's blocks that admission leaves free, so that running sequences
can grow. Which one is best? Requests wait, the pool is small, and no answer's length is known.
Measure, and answer with the watermark and a reason:

```python
def best_watermark(stream):
    return 0.5, "recompute"
```

`stream` is the number of a stream of requests. `measure(stream, watermark)` serves it and returns
what came of it: `steps`, `computed` (tokens, those computed twice included), `preemptions`, `idle`
(free blocks, added up over all steps) and `ignored` (requests that were given up).

```python
from pagesim.exercises.ch07.watermark import measure

for watermark in (0.0, 0.5):
    print(watermark, measure(0, watermark))
```

Right is every watermark with which no request is given up and the steps are within 2 % of the
fewest that any watermark reaches. The reason says why it is worse to do without a watermark:

* `"recompute"`: tokens are computed again;
* `"idle"`: blocks stand empty;
* `"ignored"`: requests are given up.

Plot the steps over the watermark before you answer; the plot need not be handed in. vLLM's default
is 0.01.
"""

BLOCK_SIZE, NUM_BLOCKS, NUM_REQUESTS = 16, 40, 50
SHOWN, HIDDEN = (0, 21), (1, 2, 3, 4, 6, 7, 8, 16, 17, 18)
"""Streams on which every watermark is good that is good on stream 0, and not the one with the
fewest idle blocks."""
REASONS = ("recompute", "idle", "ignored")


def requests(stream: int) -> list[Request]:
    """The stream of this number: (prompt, answer) in tokens, most of them short."""
    rng = random.Random(stream)
    return [
        (
            min(120, 1 + int(rng.lognormvariate(3.2, 0.9))),
            min(200, 1 + int(rng.lognormvariate(4, 0.8))),
        )
        for _ in range(NUM_REQUESTS)
    ]


def measure(stream: int, watermark: float) -> Served:
    """Serve a stream with a watermark between 0 and 1; the clock counts steps."""
    return _measured(stream, int(watermark * NUM_BLOCKS))


@lru_cache(maxsize=256)
def _measured(stream: int, watermark_blocks: int) -> Served:
    scheduler = new_scheduler(
        NUM_BLOCKS,
        block_size=BLOCK_SIZE,
        watermark=min(1.0, (watermark_blocks + 0.5) / NUM_BLOCKS),
        max_num_seqs=64,
    )
    return serve(scheduler, requests(stream))


@lru_cache(maxsize=16)
def _best(stream: int) -> Served:
    """The fewest steps without a request given up, over all watermarks up to a third."""
    every = [_measured(stream, blocks) for blocks in range(NUM_BLOCKS // 3)]
    return min((served for served in every if not served.ignored), key=lambda s: s.steps)


def best_watermark(stream: int) -> tuple[float, str]:
    """The watermark that serves the stream in the fewest steps, and why none is worse."""
    ### BEGIN SOLUTION
    from pagesim.exercises.ch07.watermark import measure

    tried = [(measure(stream, percent / 100), percent / 100) for percent in range(0, 40, 2)]
    fewest = min(served.steps for served, _ in tried if not served.ignored)
    best = next(watermark for served, watermark in tried if served.steps == fewest)
    return best, "recompute"
    ### END SOLUTION


def fault(yours: Any, stream: int) -> str:
    """What is wrong with an answer, as a sentence; nothing if it is right."""
    if not (isinstance(yours, list) and len(yours) == 2):
        return "The answer is a watermark and a reason."
    watermark, reason = yours
    if type(watermark) not in (int, float) or not 0 <= watermark <= 1:
        return "A watermark is a number between 0 and 1."
    if reason not in list(REASONS):
        return f"The reason is one of {', '.join(map(repr, REASONS))}, not {shown(reason, 80)}."
    mine, none, best = measure(stream, watermark), measure(stream, 0.0), _best(stream)
    told = (
        f"With {watermark:g} the stream takes {mine.steps:,} steps, computes {mine.computed:,} "
        f"tokens and preempts {mine.preemptions} times"
    )
    if mine.ignored:
        return f"{told}, but {mine.ignored} requests are given up: they can never be admitted."
    if mine.steps > 1.02 * best.steps:
        return f"{told}. It can be done in {best.steps:,} steps."
    worse = {
        "recompute": none.computed > mine.computed,
        "idle": none.idle / none.steps > mine.idle / mine.steps,
        "ignored": none.ignored > mine.ignored,
    }
    if not worse[reason]:
        return (
            f"{told}: that is good. But compare it with no watermark: {none.steps:,} steps, "
            f"{none.computed:,} tokens, {none.ignored} given up, {none.idle / none.steps:.1f} "
            f"blocks free in a step instead of {mine.idle / mine.steps:.1f}."
        )
    return ""


def expected(stream: int) -> Goal:
    return Goal(
        accepts=lambda yours: not fault(yours, stream),
        like=(0.5, "recompute"),
        words=f"at most {int(1.02 * _best(stream).steps):,} steps, and the reason",
    )


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    for stream in rng.sample(HIDDEN, 2) if hidden else SHOWN:
        yield Case(
            (stream,),
            f"stream {stream}: {NUM_REQUESTS} requests, {NUM_BLOCKS} blocks",
            "the stream",
        )


def why(case: Case, yours: Any, right: Any) -> str:
    return fault(list(yours), *case.args)


def play(case: Case) -> Timeline:
    """The first requests of the stream without a watermark: admitted, thrown out, admitted."""
    return _begins(case, 0.0).annotate(title="No watermark: the first 60 steps")


def replay(_: Any, case: Case, yours: Any) -> Timeline:
    return _begins(case, yours[0]).annotate(title=f"A watermark of {yours[0]:g}")


def _begins(case: Case, watermark: float) -> Timeline:
    scheduler = new_scheduler(
        NUM_BLOCKS, block_size=BLOCK_SIZE, watermark=watermark, max_num_seqs=64
    )
    run = serve(scheduler, requests(*case.args), most=60, recorded=True).run
    assert run is not None
    return run


def _no_watermark(stream: int) -> tuple[float, str]:
    return 0.0, "recompute"


def _fewest_preemptions(stream: int) -> tuple[float, str]:
    return 0.4, "recompute"


def _most(stream: int) -> tuple[float, str]:
    return 0.9, "recompute"


def _idle(stream: int) -> tuple[float, str]:
    return best_watermark(stream)[0], "idle"


EXERCISE = Exercise(
    number="7.2",
    title="The best watermark",
    stars=2,
    statement=STATEMENT,
    reference=best_watermark,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "none": Wrong(
            _no_watermark, "Without a watermark there is more room, so it is faster.", "the stream"
        ),
        "fewest_preemptions": Wrong(
            _fewest_preemptions, "The fewer requests are preempted, the better.", "the stream"
        ),
        "nearly_all": Wrong(_most, "The more blocks are kept back, the safer.", "the stream"),
        "idle_blocks": Wrong(_idle, "Without a watermark the blocks stand empty.", "the stream"),
    },
    hints=(
        "Two things are bad for the number of steps: too many preemptions, and too few sequences.",
        "Measure 0.0, 0.05, 0.1, 0.2 and 0.4. Look at preemptions and at steps: not the same one "
        "is best.",
        "Take the smallest number of steps over 0.00, 0.02, … 0.40. Then compare `computed` with "
        "what it is at 0.0.",
    ),
    vllm=(
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.__init__ (watermark)",
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate",
    ),
    play=play,
    replay=replay,
    seconds=30.0,  # the answer may measure
)
