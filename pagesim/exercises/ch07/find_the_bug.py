"""# 7.5 Find the bug: three schedulers ★★★

The schedulers `"A"`, `"B"` and `"C"` are broken: each has one fault. Find the fault, and prove it
with a few requests that the broken scheduler does not serve as vLLM's scheduler does:

```python
def show_it(scheduler, num_blocks):
    return requests, cause
```

* `scheduler`: one of the three letters;
* `num_blocks`: the number of GPU blocks, at least 6. Each has 4 tokens;
* `requests`: at most 3 pairs `(prompt, output)`, both in tokens. All of them wait from the
  beginning. Prompt and output together must fit into the pool;
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

The broken classes are in the package. If you read them, you know the cause, but you still need
requests that show the fault.

## Hints
1. A fault in the order shows only where there is a choice, so you need three requests and a full
   pool.
2. Let `s0` fill all blocks but a few, and let it grow. Then try different sizes of `s1` and `s2`.
3. For A, `s1` must be preempted while `s2` waits. For B, `s1` must not fit although `s2` would. For
   C, both `s1` and `s2` must run when `s0` needs a block.

## Wrong answers
* enough_room (A): Any three requests show the fault of a scheduler.
* symptom (A): s2 comes before s1, so it has overtaken it.
* one_fits (B): It is enough if the pool is full.
* last_is_next (C): Two requests are enough to tell the oldest from the last.

## vLLM
* vllm/core/scheduler.py: Scheduler._schedule_default
* vllm/core/scheduler.py: Scheduler._schedule_prefills
* vllm/core/scheduler.py: Scheduler._schedule_running
"""

from itertools import zip_longest

from pagesim.exercises.ch07.faulty import CAUSES, FAULTY
from pagesim.exercises.ch07.serving import Batch, Request, Served, ServingScheduler, recorded, serve
from pagesim.exercises.kit import Case, Cases, Compared, Goal, Random, Timeline, Value, parted
from pagesim.timeline.pair import compare as beside


def show_it(scheduler: str, num_blocks: int) -> tuple[list[tuple[int, int]], str]:
    """At most three (prompt, output) that show the fault of the scheduler "A", "B" or "C"."""
    ### BEGIN SOLUTION
    if scheduler == "A":  # s1 is preempted, and s2 waits: which comes first?
        return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "back"
        ### enough_room: return [(4, 3), (4, 3), (4, 3)], "back"
        ### symptom: return [(4 * num_blocks - 8, 5), (8, 3), (4, 3)], "overtake"
    if scheduler == "B":  # s1 does not fit, s2 would
        return [(4 * num_blocks - 8, 3), (12, 3), (4, 3)], "overtake"
        ### one_fits: return [(4 * num_blocks - 8, 3), (4, 3), (4, 3)], "overtake"
    return [(4 * num_blocks - 16, 3), (5, 3), (5, 3)], "oldest"  # s0 grows: which gives way?
    ### last_is_next: return [(4 * num_blocks - 16, 3), (9, 3)], "oldest"
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Each scheduler, on pools of several sizes."""
    for letter in FAULTY:
        for num_blocks in (rng.randint(7, 20),) if hidden else (6, 8):
            yield Case((letter, num_blocks), f"scheduler {letter} with {num_blocks} blocks", letter)


def both(letter: str, num_blocks: int) -> list[ServingScheduler]:
    """vLLM's scheduler, and the broken one."""
    return [ServingScheduler(num_blocks), FAULTY[letter][0](num_blocks)]


def compare(letter: str, requests: list[Request], num_blocks: int) -> tuple[Served, Served]:
    """The stream served by vLLM's scheduler and by the broken one."""
    vllm, broken = (serve(scheduler, requests, most=500) for scheduler in both(letter, num_blocks))
    return vllm, broken


def side_by_side(letter: str, requests: list[Request], num_blocks: int) -> str:
    """Who computes how many tokens in each step, by vLLM's scheduler and by the broken one."""
    vllm, broken = compare(letter, requests, num_blocks)
    lines = [f"step   {'vLLM':24}{letter}"]
    steps = zip_longest(vllm.batches, broken.batches, fillvalue=Batch())
    for number, (a, b) in enumerate(steps, 1):
        mark = "   <- differs" if a != b else ""
        lines.append(f"{number:4}   {in_words(a):24}{in_words(b)}{mark}")
    return "\n".join(lines)


def in_words(batch: Batch) -> str:
    return " ".join(f"s{name}:{tokens}" for name, tokens in batch)


def oracle(letter: str, num_blocks: int) -> Goal:
    """That the fault is shown, and named."""
    shows = f"up to 3 requests that {letter} and vLLM serve in different ways, and the cause"
    return Goal(([(1, 1)], "cause"), shows)


def why(yours: Value, letter: str, num_blocks: int) -> str:
    if not (isinstance(yours, list) and len(yours) == 2 and isinstance(yours[0], list)):
        return "Return a list of requests and a cause."
    requests, cause = yours
    if not 1 <= len(requests) <= 3:
        return f"Return 1 to 3 requests, not {len(requests)}."
    for request in requests:
        if not (isinstance(request, list) and [*map(type, request)] == [int, int]):
            return "A request is a pair of two ints: (prompt, output)."
        if min(request) < 1 or sum(request) > 4 * num_blocks:
            slots = f"both must be at least 1, and {num_blocks} blocks have {4 * num_blocks} slots"
            return f"A request of {request[0]} + {request[1]} tokens is out of range: {slots}."
    vllm, broken = compare(letter, requests, num_blocks)
    if vllm.batches == broken.batches:
        same = f"Both schedulers compute the same in each of the {vllm.steps} steps"
        return f"{same}, so these requests do not show the fault."
    if cause not in CAUSES:
        return f"The cause must be one of {', '.join(CAUSES)}."
    if cause == FAULTY[letter][1]:
        return ""
    shorter = min(vllm.steps, broken.steps)
    step = parted(vllm.batches[:shorter], broken.batches[:shorter])
    ours, theirs = (in_words(each.batches[step]) or "nothing" for each in (vllm, broken))
    differ = f"In step {step + 1}, vLLM's scheduler computes {ours}, and {letter} computes {theirs}"
    return f"{differ}. So the fault shows, but the cause is another one."


def play(letter: str, num_blocks: int) -> Timeline:
    """The broken scheduler with three requests that fill the pool."""
    requests = [(2 * num_blocks, 6), (num_blocks, 6), (num_blocks, 6)]
    title = f"Scheduler {letter} with three requests that fill the pool"
    return recorded(both(letter, num_blocks)[1], requests, title, most=100)


def replay(yours: tuple[list[Request], str], letter: str, num_blocks: int) -> Compared:
    """The requests of the answer, with vLLM's scheduler and with the broken one."""
    vllm, broken = (recorded(each, yours[0], most=100) for each in both(letter, num_blocks))
    return beside(vllm, broken, ("Your requests in vLLM", f"in {letter}"))
