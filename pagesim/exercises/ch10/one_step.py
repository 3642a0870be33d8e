"""# 10.1 One step, without phases ★★

V1's scheduler does not distinguish between prefill and decode. Every request has tokens that are
not computed yet, and a step computes as many of them as the budget allows. Write

```python
def tokens_of_a_step(running, waiting, budget, max_num_seqs):
    return scheduled
```

* `running`: `(name, tokens, computed)` of each running request, in order. `computed` of its tokens
  are computed already;
* `waiting`: `(name, tokens, hit)` of each waiting request, in order. `hit` of its tokens are
  cached;
* `budget`: how many tokens a step may compute; `max_num_seqs`: how many requests may run;
* `scheduled`: `(name, tokens)` of each request that is computed in this step, in order.

Running requests go first. Each gets all the tokens that it still needs, or what is left of the
budget. Then waiting requests are admitted in their order, as long as there is some budget left and
fewer than `max_num_seqs` requests run. Cached tokens are not computed and cost nothing. There are
plenty of blocks, and nothing is preempted.

Example: `tokens_of_a_step([("a", 9, 8), ("b", 30, 20)], [("c", 12, 4)], 16, 8)` is
`[("a", 1), ("b", 10), ("c", 5)]`. `a` decodes, and `b` continues with its prompt. `c` still needs 8
tokens, but only 5 are left of the budget.

## Hints
1. No rule depends on whether a request decodes. What do all the tuples have in common?
2. A running request still needs `tokens - computed`, and a waiting one `tokens - hit`. It is the
   same subtraction.
3. Go through `running + waiting[: max_num_seqs - len(running)]`. Take
   `min(what the request needs, what is left of the budget)`, and leave out the zeros.

## Wrong answers
* prompts_first (one decodes, one arrives): Prompts are computed first, as in V0.
* one_token_each (the rest of a prompt): A running request decodes, so it gets one token per step.
* whole_prompts (a prompt beyond the budget): A prompt that exceeds the budget waits for the next
  step.
* hits_cost (a hit leaves budget): A cached token counts against the budget, as in V0.
* any_number_runs (one place is left): Only the number of tokens is limited.

## vLLM 0.33.0
* vllm/v1/core/sched/scheduler.py: Scheduler.schedule
"""

from typing import Any

from pagesim.exercises.kit import Case, Cases, Random, Timeline, parted, recorded
from pagesim.v1 import CacheConfig, Request, RequestStatus, Scheduler, SchedulerConfig
from pagesim.v1.output import SchedulerOutput

Rows = list[tuple[str, int, int]]
Step = list[tuple[str, int]]


def tokens_of_a_step(
    running: list[tuple[str, int, int]],
    waiting: list[tuple[str, int, int]],
    budget: int,
    max_num_seqs: int,
) -> list[tuple[str, int]]:
    """(name, tokens) of each request that is computed in the next step of vLLM V1."""
    ### BEGIN SOLUTION
    scheduled: list[tuple[str, int]] = []
    places = max_num_seqs - len(running)
    for name, tokens, done in running + waiting[:places]:
        ### prompts_first: for name, tokens, done in waiting[:places] + running:
        ### any_number_runs: for name, tokens, done in running + waiting:
        num_tokens = min(tokens - done, budget)
        ### one_token_each: lacks = tokens - done if (name, tokens, done) in waiting else 1
        ### one_token_each: num_tokens = min(lacks, budget)
        ### whole_prompts: num_tokens = tokens - done if tokens - done <= budget else 0
        if num_tokens > 0:
            scheduled.append((name, num_tokens))
            budget -= num_tokens
            ### hits_cost: budget -= tokens if (name, tokens, done) in waiting else num_tokens
    return scheduled
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """One request, then two of each kind, then many."""
    n = 5 if hidden else 4
    a, b, c = (((name, n + 1, n), (name, n, 0)) for name in "abc")  # one decodes, or arrives
    shown: list[tuple[Rows, Rows, int, str]] = [
        ([], [a[1]], 8, "one prompt"),
        ([a[0]], [], 8, "one that decodes"),
        ([], [("a", 20, 0)], 8, "a prompt beyond the budget"),
        ([("a", 20, 16)], [], 8, "the rest of a prompt"),
        ([], [("a", 12, n)], 8, "a hit"),
        ([a[0]], [b[1]], 8, "one decodes, one arrives"),
        ([("a", 40, n)], [b[1]], 8, "nothing is left for the second"),
        ([a[0]], [("b", 40, 0)], 8, "a part is left for the second"),
        ([a[0]], [b[1], c[1]], 2, "one place is left"),
        ([a[0], b[0]], [c[1]], 2, "no place is left"),
        ([("a", 40, n), b[0]], [], 8, "nothing is left for the second"),
        ([], [("a", 12, n), ("b", 12, 0)], 8, "a hit leaves budget"),
    ]
    for running, waiting, places, tag in shown:
        yield Case((running, waiting, 16, places), tag=tag)
    for _ in range(40):
        names, running, waiting = iter("abcdefghijkl"), Rows(), Rows()
        for _ in range(rng.randrange(5)):
            tokens = rng.randint(2, 30)
            computed = rng.choice((tokens - 1, tokens - 1, rng.randint(1, tokens - 1)))
            running.append((next(names), tokens, computed))
        for _ in range(rng.randrange(5)):
            tokens = rng.randint(1, 30)
            waiting.append((next(names), tokens, rng.choice((0, rng.randrange(tokens)))))
        budget, places = rng.randint(8, 40), max(len(running), rng.randint(1, 8))
        yield Case((running, waiting, budget, places), tag="many")


def valid(running: Rows, waiting: Rows, budget: int, max_num_seqs: int) -> bool:
    lacks = all(tokens > done for _, tokens, done in [*running, *waiting])
    began = all(done > 0 for _, _, done in running)
    return lacks and began and budget > 0 and max_num_seqs >= max(1, len(running))


def oracle(*case: Any, record: bool = True) -> tuple[Step, Timeline]:
    """What the scheduler decides in this state."""
    output, run = recorded_step(scheduler_with(*case), "One step, without phases")
    return [(str(name), tokens) for name, tokens in output.num_scheduled_tokens.items()], run


def scheduler_with(
    running: Rows, waiting: Rows, budget: int, max_num_seqs: int, chunk: int = 0
) -> Scheduler:
    """A scheduler in this state, with blocks of one token, so that any number can be cached.

    ``chunk`` is the most that one of several requests computes in a step; 0 is no limit.
    """
    limits = max(budget, max_num_seqs), max_num_seqs, 10**6
    config = SchedulerConfig(*limits, long_prefill_token_threshold=chunk)
    scheduler = Scheduler(config, CacheConfig(1, 800))
    manager = scheduler.kv_cache_manager
    for place, (name, tokens, hit) in enumerate(waiting):
        prompt = range(1000 * place, 1000 * place + tokens)
        if hit:  # a request with the same beginning has come and gone
            before = Request(f"before {name}", prompt[:hit], block_size=1)
            manager.allocate_slots(before, hit)
            manager.free(before)
        scheduler.add_request(Request(name, prompt, block_size=1, max_tokens=10**5))
    for name, tokens, computed in running:
        request = Request(name, [10**6] * tokens, max_tokens=10**5)
        scheduler.requests[name] = request
        manager.allocate_slots(request, computed)
        request.num_computed_tokens, request.status = computed, RequestStatus.RUNNING
        scheduler.running.append(request)
    return scheduler


def recorded_step(scheduler: Scheduler, title: str) -> tuple[SchedulerOutput, Timeline]:
    with recorded(scheduler) as run:
        output = scheduler.schedule()
    return output, run.annotate(title=title)


def why(yours: Step, right: Step, running: Rows, waiting: Rows, *limits: int) -> str:
    budget, max_num_seqs = limits
    mine, theirs = [name for name, _ in yours], [name for name, _ in right]
    if (total := sum(tokens for _, tokens in yours)) > budget:
        return f"Your step computes {total} tokens, but the budget is {budget}."
    if len({*mine, *(name for name, *_ in running)}) > max_num_seqs:
        return f"At most {max_num_seqs} requests may run."
    if mine != theirs:
        order = "Running requests go first, then the waiting ones in their order"
        return f"{order}, while any budget is left. This step computes {', '.join(theirs)}."
    place = parted(yours, [*map(list, right)])
    name, left = theirs[place], budget - sum(tokens for _, tokens in right[:place])
    _, tokens, done = next(row for row in [*running, *waiting] if row[0] == name)
    has = f"{name} has {tokens} tokens, of which {done} are computed or cached"
    return f"{has}. So it still needs {tokens - done}, and {left} are left of the budget."
