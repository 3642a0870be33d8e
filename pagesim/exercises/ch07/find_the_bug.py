"""# 7.5 Find the bug: three schedulers ★★★

Three schedulers, `"A"`, `"B"` and `"C"`, are broken: each has one fault. Find it, and prove it with
a stream of requests that the broken scheduler serves otherwise than vLLM's:

```python
def show_it(scheduler, num_blocks):
    return requests, cause
```

* `scheduler`: which one, `"A"`, `"B"` or `"C"`; `num_blocks`: how many GPU blocks of 4
  tokens there are, at least 6;
* `requests`: at most 3 pairs `(prompt, answer)`, both in tokens. They all wait from
  the beginning. Prompt and answer together must fit the pool;
* `cause`: one of
  * `"back"`: A preempted request goes to the end of waiting, not to its front.
  * `"overtake"`: A prompt that fits is admitted although the one before it does not fit.
  * `"oldest"`: The oldest of the running requests is preempted, not the last.
  * `"mixed"`: A step computes prompts and decodes together.
  * `"early"`: A running sequence is preempted although a block is free.

To see a broken scheduler beside vLLM's, step by step:

```python
from pagesim.exercises.ch07.find_the_bug import side_by_side

print(side_by_side("A", [(8, 3), (8, 3)], 6))
```

The broken classes are in the package. Reading them tells you the cause, but not a stream that shows
it.

## Hints
1. A fault in the order shows only where there is a choice: three requests, and a full pool.
2. Fill all blocks but a few with s0, and let it grow. Then vary how large s1 and s2 are.
3. A: s1 must be preempted while s2 waits. B: s1 must not fit while s2 would. C: s1 and s2 must both
   run when s0 needs a block.

## Wrong answers
* enough_room (A): Any three requests show the fault of a scheduler.
* symptom (A): s2 comes before s1, so it has overtaken it.
* one_fits (B): It is enough that the pool is full.
* last_is_next (C): Two requests are enough to tell the oldest from the last.

## vLLM
* vllm/core/scheduler.py: Scheduler._schedule_default
* vllm/core/scheduler.py: Scheduler._schedule_prefills
* vllm/core/scheduler.py: Scheduler._schedule_running
"""

from itertools import zip_longest

from pagesim.exercises.ch07.faulty import CAUSES, FAULTY
from pagesim.exercises.ch07.serving import Batch, Request, Served, new_scheduler, recorded, serve
from pagesim.exercises.kit import Case, Cases, Goal, Random, Timeline, parted
from pagesim.timeline.pair import Compared
from pagesim.timeline.pair import compare as beside
from pagesim.v0.scheduler import Scheduler


def show_it(scheduler: str, num_blocks: int) -> tuple[list[tuple[int, int]], str]:
    """At most three (prompt, answer) that show the fault of the scheduler "A", "B" or "C"."""
    ### BEGIN SOLUTION
    if scheduler == "A":  # s1 is preempted, and s2 waits: which comes first?
        return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "back"
        ### enough_room: return [(4, 3), (4, 3), (4, 3)], "back"
        ### symptom: return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "overtake"
    if scheduler == "B":  # s1 does not fit, s2 would
        return [(4 * num_blocks - 8, 3), (12, 3), (4, 3)], "overtake"
        ### enough_room: return [(4, 3), (4, 3), (4, 3)], "overtake"
        ### one_fits: return [(4 * num_blocks - 8, 3), (4, 3), (4, 3)], "overtake"
    return [(4 * num_blocks - 16, 3), (5, 3), (5, 3)], "oldest"  # s0 grows: which gives way?
    ### last_is_next: return [(4 * num_blocks - 16, 3), (9, 3)], "oldest"
    ### enough_room: return [(4, 3), (4, 3), (4, 3)], "oldest"
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Each scheduler, on pools of several sizes."""
    for letter in FAULTY:
        for num_blocks in (rng.randint(7, 20),) if hidden else (6, 8):
            yield Case((letter, num_blocks), f"scheduler {letter} with {num_blocks} blocks", letter)


def both(letter: str, num_blocks: int) -> list[Scheduler]:
    """vLLM's scheduler, and the broken one."""
    kinds: tuple[type[Scheduler], ...] = (Scheduler, FAULTY[letter][0])
    return [new_scheduler(num_blocks, kind=kind) for kind in kinds]


def compare(letter: str, requests: list[Request], num_blocks: int) -> tuple[Served, Served]:
    """The stream served by vLLM's scheduler and by the broken one."""
    vllm, broken = (serve(scheduler, requests, most=500) for scheduler in both(letter, num_blocks))
    return vllm, broken


def side_by_side(letter: str, requests: list[Request], num_blocks: int) -> str:
    """Who computes how many tokens in each step, by vLLM's scheduler and by the broken one."""
    vllm, broken = compare(letter, requests, num_blocks)
    lines = [f"{'step':>4}   {'vLLM':24}{letter}"]
    done: Batch = []
    steps = zip_longest(vllm.batches, broken.batches, fillvalue=done)
    for number, (a, b) in enumerate(steps, 1):
        mark = "   <- differs" if a != b else ""
        lines.append(f"{number:4}   {in_words(a):24}{in_words(b)}{mark}")
    return "\n".join(lines)


def in_words(batch: Batch) -> str:
    return " ".join(f"s{name}:{tokens}" for name, tokens in batch)


def oracle(letter: str, num_blocks: int) -> Goal:
    """That the fault is shown, and named."""
    shows = f"up to 3 requests that {letter} serves otherwise than vLLM, and why"
    return Goal(([(1, 1)], "cause"), shows)


def why(yours: object, letter: str, num_blocks: int) -> str:
    if not (isinstance(yours, list) and len(yours) == 2 and isinstance(yours[0], list)):
        return "The answer is a list of requests and a cause."
    requests, cause = yours
    if not 1 <= len(requests) <= 3:
        return f"One to 3 requests are enough, not {len(requests)}."
    for request in requests:
        if not (isinstance(request, list) and [*map(type, request)] == [int, int]):
            return "A request is a pair of two ints: (prompt, answer)."
        if min(request) < 1 or sum(request) > 4 * num_blocks:
            slots = f"both are at least 1, and {num_blocks} blocks have {4 * num_blocks} slots"
            return f"A request of {request[0]} + {request[1]} tokens is out of range: {slots}."
    vllm, broken = compare(letter, requests, num_blocks)
    if vllm.batches == broken.batches:
        same = f"Both schedulers serve these requests in the same {vllm.steps} steps"
        return f"{same}: they do not show the fault."
    if cause not in CAUSES:
        return f"The cause is one of {', '.join(CAUSES)}."
    if cause == FAULTY[letter][1]:
        return ""
    shorter = min(vllm.steps, broken.steps)
    step = parted(vllm.batches[:shorter], broken.batches[:shorter])
    ours, theirs = in_words(vllm.batches[step]), in_words(broken.batches[step])
    differ = f"They differ, first in step {step + 1}: {ours} by vLLM, {theirs} by {letter}"
    return f"{differ}. But the cause is another one."


def play(letter: str, num_blocks: int) -> Timeline:
    """The broken scheduler with three requests that fill the pool."""
    requests = [(2 * num_blocks, 6), (num_blocks, 6), (num_blocks, 6)]
    title = f"Scheduler {letter} with three requests that fill the pool"
    return recorded(both(letter, num_blocks)[1], requests, title, most=100)


def replay(yours: tuple[list[Request], str], letter: str, num_blocks: int) -> Compared:
    """The stream of the answer, by vLLM's scheduler and by the broken one."""
    vllm, broken = (recorded(each, yours[0], most=100) for each in both(letter, num_blocks))
    return beside(vllm, broken, ("Your requests in vLLM", f"in {letter}"))
