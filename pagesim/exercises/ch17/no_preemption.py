"""# 17.2 A server that preempts nobody ★★★

Most surprises with memory begin with a preemption. Build a server in which there is none, and find
out what that costs.

The server is V1 without prefix caching, with `num_blocks` usable blocks of `block_size` slots. A
gate stands before it. Before each step, the gate asks you about the request that has waited the
longest, until you say no:

```python
def may_begin(prompt, output, running, num_blocks, block_size):
    return True
```

* `prompt` and `output` are the tokens of the request that waits. It generates at most `output`
  tokens.
* `running` has a pair `(length, left)` for each request that runs. The next step stores its first
  `length` tokens, and each further step one more. It generates at most `left` more tokens, one per
  step, the first of them in the next step. When it has generated its last token, its blocks are
  free for the step after that.

A request that begins has `length = prompt` and `left = output` in its first step.

Say yes as early as possible, but only if no request, neither the new one nor another, can ever be
preempted. You need not think of those that begin later: you will be asked about them.

Example: 3 blocks of 4, and `running = [(7, 2)]`. A request with `prompt = 5, output = 2` must wait:
in the next step both need 2 blocks. With `prompt = 1, output = 9` it may begin: it needs its second
block in the fifth step, when the other one has ended.

Preempting nobody has its price. Compare the steps that your gate and vLLM need, for the ten
requests of a case:

```python
from pagesim.exercises.ch17.no_preemption import WORKLOAD, serve

print(serve(may_begin, WORKLOAD, num_blocks=6, block_size=4))
print(serve(lambda *_: True, WORKLOAD, num_blocks=6, block_size=4))  # vLLM decides alone
```

## Hints
1. It is safe to add up what every request holds at its end. But those ends are not at the same
   time, so this waits longer than necessary.
2. In the step `j`, counted from the next one as 1, a request with `left >= j` holds blocks for
   `length + j - 1` tokens. A request with `left < j` has ended.
3. For each step up to the largest `left`, add up the blocks of all requests, the new one included.
   The largest sum must not be more than `num_blocks`.

## Wrong answers
* fits_now (a request grows): It is enough that the prompts fit in the next step.
* all_ends_together (one ends early): Each request holds its most blocks at the same time.
* last_token_too (exactly full): The last token of the output needs a slot as well.
* only_the_new_one (a request grows): Those that run have what they need.
* still_there (one ends early): A request holds its blocks for one step after its last token.

## vLLM 0.33.0
* vllm/v1/core/sched/scheduler.py: Scheduler.schedule
"""

from collections.abc import Callable
from typing import NamedTuple

from pagesim.exercises.kit import Case, Cases, Random, Timeline, parted
from pagesim.story import Engine

Workload = list[tuple[int, int]]
Running = list[tuple[int, int]]
Gate = Callable[[int, int, Running, int, int], bool]
WORKLOAD: Workload = [
    *((9, 4), (3, 12), (6, 3), (2, 9), (11, 2)),
    *((5, 5), (1, 14), (8, 3), (4, 4), (7, 2)),
]
"""Prompt and output of ten requests."""


class Served(NamedTuple):
    """The step in which each request began, all steps, and how many requests were preempted."""

    begins: list[int]
    steps: int
    preemptions: int


def may_begin(
    prompt: int, output: int, running: list[tuple[int, int]], num_blocks: int, block_size: int
) -> bool:
    """Whether a request may begin, so that nobody will be preempted."""
    ### BEGIN SOLUTION
    everybody = [*running, (prompt, output)]
    ### only_the_new_one: everybody = [(prompt, output)]
    for step in range(1, max(left for _, left in everybody) + 1):
        ### fits_now: for step in range(1, 2):
        blocks = 0
        for length, left in everybody:
            if left >= step:
                ### still_there: if left + 1 >= step:
                blocks += -(-(length + step - 1) // block_size)
                ### last_token_too: blocks += -(-(length + step) // block_size)
        if blocks > num_blocks:
            return False
    return True
    ### END SOLUTION


def all_ends_together(
    prompt: int, output: int, running: Running, num_blocks: int, block_size: int
) -> bool:
    everybody = [*running, (prompt, output)]
    most = (-(-(length + left - 1) // block_size) for length, left in everybody)
    return sum(most) <= num_blocks


def cases(rng: Random, hidden: bool) -> Cases:
    """Two requests that must not meet, two that may, one that ends in time, and longer streams."""
    size = rng.choice((3, 5)) if hidden else 4
    grows, full, early = [(2 * size, 3), (1, 2)], [(1, size)] * 2, [(2 * size, 2), (size - 1, size)]
    yield Case((grows, 3, size), f"one grows, blocks of {size}", "a request grows")
    yield Case((full, 2, size), f"two fill two blocks of {size}", "exactly full")
    yield Case((early, 4, size), f"one ends early, blocks of {size}", "one ends early")
    for number in range(3):
        stream = WORKLOAD if not (hidden or number) else some(rng, 4 * size)
        yield Case((stream, 6, size), f"ten requests, blocks of {size}", "a stream")


def some(rng: Random, most: int) -> Workload:
    """Ten requests, each of which fits by itself."""
    prompts = [rng.randint(1, most) for _ in range(10)]
    return [(prompt, rng.randint(1, 5 * most // 4 - prompt + 2)) for prompt in prompts]


def serve(may: Gate, workload: Workload, num_blocks: int, block_size: int) -> Served:
    """Serve requests behind a gate; a request that is alone may always begin."""
    return served(may, workload, num_blocks, block_size, record=False)[0]


def served(
    may: Gate, workload: Workload, num_blocks: int, block_size: int, record: bool = True
) -> tuple[Served, Engine]:
    size = 1 + num_blocks, 0, block_size
    engine = Engine("v1", *size, enable_prefix_caching=False, record=record)
    begins: list[int] = []
    for step in range(1, 400):
        while len(begins) < len(workload):
            running = present(engine)
            prompt, output = workload[len(begins)]
            if running and not may(prompt, output, running, num_blocks, block_size):
                break
            engine.add(f"r{len(begins)}", prompt, max_tokens=output)
            begins.append(step)
        if not (engine.running or engine.waiting):
            break
        engine.step()
    return Served(begins, step - 1, engine.preemptions()), engine


def present(engine: Engine) -> Running:
    """Those that the gate has let in: their lengths, and what they may still generate."""
    requests = [engine.requests[name] for name in (*engine.running, *engine.waiting)]
    return [(its.num_tokens, its.max_tokens - its.num_output_tokens) for its in requests]


def call(answer: Gate, workload: Workload, num_blocks: int, block_size: int) -> Served:
    return serve(answer, workload, num_blocks, block_size)


def oracle(workload: Workload, num_blocks: int, block_size: int) -> Served:
    """The gate that tries: it serves all that are inside, and looks whether one is preempted."""
    return serve(tried, workload, num_blocks, block_size)


def tried(prompt: int, output: int, running: Running, num_blocks: int, block_size: int) -> bool:
    size = 1 + num_blocks, 0, block_size
    engine = Engine("v1", *size, enable_prefix_caching=False, record=False)
    for number, (length, left) in enumerate((*running, (prompt, output))):
        engine.add(f"{number}", length, max_tokens=left)
    engine.step()
    if engine.waiting:
        return False
    while engine.running:
        engine.step()
        if engine.waiting:
            return False
    return True


def why(yours: Served, right: Served) -> str:
    if yours[2]:
        return f"{yours[2]} times, a request is preempted."
    at = parted(yours[0], right[0])
    begins, could = yours[0][at], right[0][at]
    if begins > could:
        return f"r{at} begins in step {begins}. It could begin in step {could}, with no preemption."
    return f"r{at} begins in step {begins}, but one of those inside could be preempted then."


def play(workload: Workload, num_blocks: int, block_size: int) -> Timeline:
    run = served(lambda *_: True, workload, num_blocks, block_size)[1].run
    return run.annotate(title="Without a gate: vLLM preempts")


def replay(
    yours: Served, workload: Workload, num_blocks: int, block_size: int, function: Gate
) -> Timeline:
    run = served(function, workload, num_blocks, block_size)[1].run
    return run.annotate(title="Behind your gate")
