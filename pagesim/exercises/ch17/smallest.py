"""# 17.1 The smallest preemption ★★

Somebody reports that requests are preempted. You want to show it with as little as possible.

The server is V1 without prefix caching. `num_blocks` blocks of `block_size` slots can be used, and
a step may compute as many tokens as you like. Return a list of requests, each as
`(prompt, output)`, in tokens. All of them arrive before the first step, in the order of the list.

```python
def smallest(num_blocks, block_size):
    return [(4, 2), (1, 2)]
```

Your list is right if three things are true:

1. At least one request is preempted.
2. All requests end, with all their output. Nobody waits forever.
3. No other list does this with fewer tokens, prompts and outputs together.

`measure(requests, num_blocks, block_size)` serves a list, and returns the number of preemptions and
how many requests have ended:

```python
from pagesim.exercises.ch17.smallest import measure

print(measure([(4, 2), (1, 2)], num_blocks=2, block_size=4))  # (1, 2)
```

You may search, or think. A solution that searches has a few lines more.

## Hints
1. One request alone can only preempt itself, and then it never ends. So there must be at least two,
   each small enough for the pool.
2. A request holds blocks for its prompt in the first step, and for one token more in every further
   step. A request with 2 tokens of output runs for two steps.
3. Try all lists of numbers with the sum 2, 3, 4 and so on, and take the first that `measure` likes.

## Wrong answers
* one_alone (two blocks): A request that outgrows the pool is preempted, and that is enough.
* too_many_prompts (two blocks): If the prompts do not fit together, somebody is preempted.
* one_large_one_small (more blocks): The first request should fill all blocks but one.
* many_small (more blocks): The more requests there are, the fewer tokens are needed.

## vLLM 0.33.0
* vllm/v1/core/sched/scheduler.py: Scheduler.schedule
* vllm/v1/core/kv_cache_manager.py: KVCacheManager.allocate_slots
"""

from collections.abc import Iterator
from functools import cache
from itertools import combinations, count, pairwise

from pagesim.exercises.kit import Case, Cases, Goal, Random, Timeline, Value, counted
from pagesim.story import Engine
from pagesim.v1 import CacheConfig, Request, Scheduler, SchedulerConfig

Requests = list[tuple[int, int]]
LONGEST = 40
"""The most tokens of a list: more than any smallest one has here."""
SECONDS = 20.0  # the answer may search


def smallest(num_blocks: int, block_size: int) -> list[tuple[int, int]]:
    """The requests with the fewest tokens of which one is preempted, and all end."""
    ### BEGIN SOLUTION
    from itertools import combinations, count, pairwise

    from pagesim.exercises.ch17.smallest import measure

    for total in count(2):
        for num_requests in range(1, total // 2 + 1):
            for cuts in combinations(range(1, total), 2 * num_requests - 1):
                sizes = [end - start for start, end in pairwise((0, *cuts, total))]
                requests = list(zip(sizes[::2], sizes[1::2], strict=True))
                preemptions, ended = measure(requests, num_blocks, block_size)
                if preemptions and ended == num_requests:
                    return requests
    ### END SOLUTION
    return []


def one_alone(num_blocks: int, block_size: int) -> Requests:
    return [(1, num_blocks * block_size + 1)]


def too_many_prompts(num_blocks: int, block_size: int) -> Requests:
    return [(block_size, 1)] * (num_blocks + 1)


def one_large_one_small(num_blocks: int, block_size: int) -> Requests:
    return [((num_blocks - 1) * block_size, 2), (1, 2)]


def many_small(num_blocks: int, block_size: int) -> Requests:
    return [(block_size, 2)] + [(1, 2)] * (num_blocks - 1)


def cases(rng: Random, hidden: bool) -> Cases:
    """Pools of two blocks, then of more."""
    for num_blocks, block_size in ((2, 3), (3, 3)) if hidden else ((2, 2), (3, 2), (2, 4)):
        tag = "two blocks" if num_blocks == 2 else "more blocks"
        yield Case((num_blocks, block_size), tag=tag)


def measure(requests: Requests, num_blocks: int, block_size: int) -> tuple[int, int]:
    """Serve requests; returns the number of preemptions and how many have ended."""
    limits = SchedulerConfig(LONGEST**2, LONGEST, LONGEST**2)
    cache = CacheConfig(block_size, num_blocks + 1, enable_prefix_caching=False)
    scheduler = Scheduler(limits, cache)
    served = [Request(i, range(p), max_tokens=n) for i, (p, n) in enumerate(requests)]
    for request in served:
        scheduler.add_request(request)
    empty = 0
    while scheduler.requests and empty < 2:  # a step that preempts may be empty, but not two
        output = scheduler.schedule()
        sampled = {name: [7] for name in output.num_scheduled_tokens}
        scheduler.update_from_output(output, sampled)
        empty = 0 if sampled else empty + 1
    ended = sum(request.is_finished() for request in served)
    return sum(request.num_preemptions for request in served), ended


def lists(total: int) -> Iterator[Requests]:
    """All lists with so many tokens; who generates only one token is gone before anybody grows."""
    for num_requests in range(2, total // 3 + 1):
        for cuts in combinations(range(1, total), 2 * num_requests - 1):
            sizes = [end - start for start, end in pairwise((0, *cuts, total))]
            requests = list(zip(sizes[::2], sizes[1::2], strict=True))
            if all(output > 1 for _, output in requests):
                yield requests


@cache
def fewest(num_blocks: int, block_size: int) -> tuple[int, Requests]:
    """The fewest tokens that are needed, and a list that has them."""
    for total in count(2):
        for requests in lists(total):
            if is_shown(requests, num_blocks, block_size):
                return total, requests
    raise AssertionError("there is always one")


def is_shown(requests: Requests, num_blocks: int, block_size: int) -> bool:
    preemptions, ended = measure(requests, num_blocks, block_size)
    return preemptions > 0 and ended == len(requests)


def oracle(num_blocks: int, block_size: int) -> Goal:
    """Any list that shows it with the fewest tokens."""
    total, requests = fewest(num_blocks, block_size)
    return Goal(requests, f"requests with {total} tokens in all")


def why(yours: Value, num_blocks: int, block_size: int) -> str:
    if not isinstance(yours, list) or not all(
        isinstance(pair, list | tuple) and [type(n) for n in pair] == [int, int] for pair in yours
    ):
        return "Return a list of pairs of ints: prompt and output."
    requests = [(prompt, output) for prompt, output in yours]
    if any(min(pair) < 1 for pair in requests):
        return "Each request has at least one token of prompt, and one of output."
    total, (least, _) = sum(map(sum, requests)), fewest(num_blocks, block_size)
    if total > LONGEST:
        return f"Your requests have {total} tokens. {least} are enough."
    preemptions, ended = measure(requests, num_blocks, block_size)
    if ended < len(requests):
        rest = counted(len(requests) - ended, "request")
        return f"{rest} of {len(requests)} never ended: the pool is too small for it alone."
    if not preemptions:
        return f"All {counted(ended, 'request')} ended, and none was preempted."
    if total > least:
        return f"It works with {total} tokens, but {least} are enough: {total - least} fewer."
    return ""


def play(num_blocks: int, block_size: int) -> Timeline:
    return replay([(1, num_blocks * block_size + 1)], num_blocks, block_size).annotate(
        title="A request that is alone, and outgrows the pool"
    )


def replay(yours: Requests, num_blocks: int, block_size: int) -> Timeline:
    engine = Engine("v1", num_blocks + 1, 0, block_size, enable_prefix_caching=False)
    for number, (prompt, output) in enumerate(yours):
        engine.add(f"r{number}", prompt, max_tokens=output)
    while engine.requests and engine.step():
        pass
    engine.steps(3)
    return engine.run.annotate(title="Your requests")
