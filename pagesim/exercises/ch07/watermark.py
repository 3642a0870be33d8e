"""# 7.2 The best watermark ★★

The watermark is the fraction of the GPU's blocks that admission keeps free, so that running
sequences can grow. What is the best watermark? Requests wait, the pool is small, and no one knows
how long an output will be. So measure, and then return a watermark and a reason:

```python
def best_watermark(stream):
    return 0.5, "recompute"
```

`stream` is the number of a stream of requests. `measure(stream, watermark)` serves the stream and
returns what happened: `steps`, `computed` (tokens, with those that were computed twice counted
twice), `preemptions`, `idle` (free blocks, added up over all steps) and `ignored` (requests that
were given up).

```python
from pagesim.exercises.ch07.watermark import measure

for watermark in (0.0, 0.5):
    print(watermark, measure(0, watermark))
```

A watermark is right if no request is given up, and if it takes at most 2 % more steps than the best
watermark. The reason says what gets worse if there is no watermark:

* `"recompute"`: more tokens are computed again;
* `"idle"`: more blocks stay empty;
* `"ignored"`: more requests are given up.

Plot the steps against the watermark before you answer. You need not hand in the plot. vLLM's
default is 0.01.

## Hints
1. Two things cost steps: too many preemptions, and too few running sequences.
2. Measure 0.0, 0.05, 0.1, 0.2 and 0.4. Look at the preemptions and at the steps: the fewest
   preemptions do not give the fewest steps.
3. Try 0.00, 0.02, … 0.40 and take the watermark with the fewest steps. Then compare its `computed`
   with that of 0.0.

## Wrong answers
* none (the stream): Without a watermark there is more room, so it is faster.
* fewest_preemptions (the stream): The fewer requests are preempted, the better.
* nearly_all (the stream): The more blocks are kept free, the better.
* idle_blocks (the stream): Without a watermark, more blocks stay empty.

## vLLM
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.__init__ (watermark)
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate
"""

from functools import lru_cache

from pagesim.exercises.ch07.serving import Request, Served, ServingScheduler, recorded, serve
from pagesim.exercises.kit import Case, Cases, Goal, Random, Timeline, Value
from pagesim.exercises.values import shown

SECONDS = 30.0  # the answer may measure
SHOWN, HIDDEN = (0, 21), (1, 2, 3, 4, 6, 7, 8, 16, 17, 18)
"""Streams on which every watermark is good that is good on stream 0, and not the one with the
fewest idle blocks."""
REASONS = ["recompute", "idle", "ignored"]


def best_watermark(stream: int) -> tuple[float, str]:
    """The watermark with the fewest steps, and the reason why no watermark is worse."""
    ### BEGIN SOLUTION
    from pagesim.exercises.ch07.watermark import measure

    tried = [(measure(stream, percent / 100), percent / 100) for percent in range(0, 40, 2)]
    fewest = min(served.steps for served, _ in tried if not served.ignored)
    best = next(watermark for served, watermark in tried if served.steps == fewest)
    return best, "recompute"
    ### none: return 0.0, "recompute"
    ### fewest_preemptions: return 0.4, "recompute"
    ### nearly_all: return 0.9, "recompute"
    ### idle_blocks: return best, "idle"
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Streams that have the same best watermarks."""
    for stream in rng.sample(HIDDEN, 2) if hidden else SHOWN:
        yield Case((stream,), f"stream {stream}: 50 requests, 40 blocks", "the stream")


def requests(stream: int) -> list[Request]:
    """The stream of this number: (prompt, answer) in tokens, most of them short."""
    tokens = Random(stream).lognormvariate
    drawn = [(1 + int(tokens(3.2, 0.9)), 1 + int(tokens(4, 0.8))) for _ in range(50)]
    return [(min(prompt, 120), min(output, 200)) for prompt, output in drawn]


def measure(stream: int, watermark: float) -> Served:
    """Serve a stream with a watermark between 0 and 1; the clock counts steps."""
    return served(stream, int(watermark * 40))


@lru_cache(maxsize=256)
def served(stream: int, watermark_blocks: int) -> Served:
    """Serve a stream with so many blocks kept back."""
    return serve(keeping((watermark_blocks + 0.5) / 40), requests(stream))


def keeping(watermark: float) -> ServingScheduler:
    return ServingScheduler(40, 16, min(1.0, watermark), max_num_seqs=64)


def fewest_steps(stream: int) -> int:
    """The fewest steps without a request given up, over all watermarks up to a third."""
    every = [served(stream, blocks) for blocks in range(40 // 3)]
    return min(one.steps for one in every if not one.ignored)


def oracle(stream: int) -> Goal:
    """Few steps, and what is worse without a watermark."""
    steps = f"at most {int(1.02 * fewest_steps(stream)):,} steps, and the reason"
    return Goal((0.5, "recompute"), steps)


def why(yours: Value, stream: int) -> str:
    if not (isinstance(yours, list) and len(yours) == 2):
        return "Return a watermark and a reason."
    watermark, reason = yours
    if type(watermark) not in (int, float) or not 0 <= watermark <= 1:
        return "A watermark is a number between 0 and 1."
    if reason not in REASONS:
        return f"The reason must be one of {str(REASONS)[1:-1]}, not {shown(reason, 80)}."
    mine, none = measure(stream, watermark), measure(stream, 0.0)
    takes = f"there are {mine.steps:,} steps, {mine.computed:,} tokens are computed, and there are"
    result = f"With a watermark of {watermark:g}, {takes} {mine.preemptions} preemptions"
    if mine.ignored:
        return f"{result}. But {mine.ignored} requests are given up: they can never be admitted."
    if mine.steps > 1.02 * fewest_steps(stream):
        return f"{result}. The best watermark takes {fewest_steps(stream):,} steps."
    idle, without = mine.idle / mine.steps, none.idle / none.steps
    recomputes, gives_up = none.computed > mine.computed, none.ignored > mine.ignored
    if dict(zip(REASONS, (recomputes, without > idle, gives_up), strict=True))[reason]:
        return ""
    much = f"{none.computed:,} tokens are computed, {none.ignored} requests are given up"
    free = f"{without:.1f} blocks are free per step, instead of {idle:.1f}"
    good = f"{result}. That is good, but the reason is another one"
    return f"{good}. Without a watermark, {much}, and {free}."


def play(stream: int) -> Timeline:
    """The first requests of the stream without a watermark: admitted, preempted, admitted."""
    return recorded(keeping(0.0), requests(stream), "No watermark: the first 60 steps")


def replay(yours: tuple[float, str], stream: int) -> Timeline:
    """The same requests with the watermark of the answer."""
    return recorded(keeping(yours[0]), requests(stream), f"A watermark of {yours[0]:g}")
