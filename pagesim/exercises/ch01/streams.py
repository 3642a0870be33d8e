"""# 1.3 Two streams against the rule ★★

Chapter 1 suggests a rule: blocks waste less than contiguous memory, and the more a server knows
about the output, the less it wastes. Find two streams of requests for which this is not true.

Write `stream(wanted, block_size)`. The function returns `(pool, longest, requests)`: the slots of
the pool (at most 10,000), the longest sequence that the model allows, and a list of 50 to 1,000
requests as `(prompt, output)`, in tokens. All requests wait from the beginning. `check` serves them
under two policies and compares the shares of the pool that hold tokens.

* If `wanted` is `"rows as good as pages"`, the two policies are `max` (contiguous memory, `longest`
  slots for every request) and `paged` (blocks of `block_size` slots). The two shares must differ by
  less than 1 percentage point, and the share under `paged` must be at least 90 %.
* If `wanted` is `"oracle worse than pow2"`, the two policies are `oracle`, which knows the length
  of every output, and `pow2` of exercise 1.2, which guesses it. The share under `oracle` must be at
  least 1 percentage point *lower* than the share under `pow2`. If you are sure that this is
  impossible, return None.

`pagesim.simulate([Request("s0", 0.0, prompt, output), …], policy="max", pool=pool,
max_model_len=longest).waste.mean()["token"]` is such a share, in percent. `Request` is in
`pagesim.workload`. For `paged`, `check` uses `Paged(block_size, watermark=0.0)` of
`pagesim.simulation`. All policies but `paged` use the buddy allocator of exercise 1.2, so an
allocation of 12 slots costs 16. A step computes at most 2,048 tokens of prompts.

## Hints
1. For the first question: when is no slot of an allocation reserved or internal? For the second: if
   a small request is admitted a little too early, what happens to the large one behind it?
2. For the first question, use prompts that nearly fill the allocation, outputs of one token,
   allocations that are a power of two, and a pool that is a multiple of them. For the second,
   generate random streams of two or three kinds of requests, in pools that hold two or three
   allocations, and keep the stream that is worst for `oracle`.
3. For the first question, return `(8 * 64, 64, [(63, 1)] * 50)`. For the second, search with
   `longest = 16` and a pool of 32, and let one long and two short kinds of requests take turns.

## Wrong answers
* long_answers (rows as good as pages): It is enough if every sequence fills its allocation in the
  end.
* short_requests (rows as good as pages): An output of one token reserves next to nothing, so next
  to nothing is lost.
* too_few (rows as good as pages): A handful of requests is enough to compare two policies.
* nothing_waits (rows as good as pages): If all requests have room, any kind of memory is as good as
  any other.
* cannot_be (oracle worse than pow2): A server that reserves exactly what is needed is never worse
  than one that guesses.

## vLLM
* vllm/core/scheduler.py: Scheduler._schedule_prefills, first come first served as here
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate
"""

from pagesim.exercises.case import Function
from pagesim.exercises.ch01.served import power_of_two_from, served
from pagesim.exercises.kit import Case, Cases, Goal, Random, Timeline
from pagesim.simulation import Paged, Simulation
from pagesim.timeline.pair import Compared, compare

Stream = tuple[int, int, list[tuple[int, int]]]
ROWS, ORACLE = "rows as good as pages", "oracle worse than pow2"
POLICIES = {ROWS: ("max", "paged"), ORACLE: ("oracle", "pow2")}
EXAMPLES = {ROWS: (128, 64, [(63, 1)]), ORACLE: (32, 16, [(9, 2), (3, 3), (1, 3)])}
BUDGET = 2048
"""Tokens of a step, where nothing else is said."""


def stream(wanted: str, block_size: int) -> tuple[int, int, list[tuple[int, int]]] | None:
    """A pool, the longest sequence, and requests: (slots, tokens, [(prompt, output), …]).

    None if there is no such stream. Blocks have block_size slots.
    """
    ### BEGIN SOLUTION
    if wanted == "rows as good as pages":
        # Every sequence is as long as a row, and it is so from the start: one token of answer.
        return 8 * 64, 64, [(63, 1)] * 50
        ### long_answers: return 8 * 64, 64, [(32, 32)] * 50
        ### short_requests: return 8 * 64, 64, [(15, 1)] * 50
        ### too_few: return 8 * 64, 64, [(63, 1)] * 8
        ### nothing_waits: return 8 * 1000, 64, [(63, 1)] * 50
    # The oracle asks for less, so it lets a request in earlier, into a hole that a longer one of
    # the next round would have needed.
    return 32, 16, [(9, 2), (3, 3), (1, 3)] * 17
    ### cannot_be: return None
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """The two questions."""
    for block_size in (32, 8) if hidden else (16,):
        yield Case((ROWS, block_size), tag=ROWS)
        yield Case((ORACLE, block_size), tag=ORACLE)


def call(function: Function, *case: int | str) -> dict[str, Stream | None]:
    """The student's stream, by name: a missing one is also an answer."""
    return {"stream": function(*case)}


def oracle(wanted: str, block_size: int) -> Goal:
    """Both can be shown."""
    return Goal({"stream": EXAMPLES[ORACLE]}, "a stream that shows it")


def simulated(policy: str, stream: Stream, block_size: int, record: bool = False) -> Simulation:
    """The stream under one of the policies."""
    pool, longest, requests = stream
    memory = Paged(block_size, watermark=0.0) if policy == "paged" else policy
    return served(memory, requests, pool, longest, record=record)


def why(yours: dict[str, Stream | None], wanted: str, block_size: int) -> str:
    if (stream := yours["stream"]) is None:
        early = "under oracle, a smaller request is admitted earlier, and it may take the room that"
        search = "Search small pools, with two or three kinds of requests"
        return f"There is one: {early} a larger request behind it needs. {search}."
    pool, longest, requests = stream
    if len(requests) < 50:
        return "Return at least 50 requests, so that the pool is full most of the time."
    if pool > 10_000 or len(requests) > 1000:
        return "Use at most 10,000 slots and 1,000 requests: a small stream shows as much."
    names = POLICIES[wanted]
    one, other = (simulated(name, stream, block_size).waste.mean()["token"] for name in names)
    shares = f"{one:.1f} % under {names[0]} and {other:.1f} % under {names[1]}"
    good = abs(one - other) < 1 if wanted == ROWS else one <= other - 1
    if good and (wanted == ORACLE or other >= 90):
        return ""
    got = f"The shares of the slots that hold tokens are {shares}"
    if wanted == ORACLE:
        return f"{got}. The share under oracle must be at least 1 percentage point lower."
    if (costs := power_of_two_from(longest)) > longest:
        rule = "a buddy allocator hands out only powers of two"
        return f"{got}. An allocation of {longest} slots costs {costs}: {rule}."
    if rest := pool % longest:
        return f"{got}. The pool is not a multiple of {longest}, so {rest} slots are left over."
    if pool > BUDGET and len(requests) >= pool // longest:
        rule = "so requests that leave soon never fill a larger pool"
        return f"{got}. A step computes at most {BUDGET:,} tokens of prompts, {rule}."
    if good:
        return "With blocks, at least 90 % of the slots must hold tokens. Let more requests wait."
    rule = "what it will never use, and what is left of the pool at the end"
    lose = f"Contiguous memory loses what a request does not use yet, {rule}"
    return f"{got}. {lose}. All three must be next to nothing."


def play(wanted: str) -> Timeline | None:
    """A stream that does show it: its beginning in rows, or as the oracle serves it."""
    pool, longest, requests = EXAMPLES[wanted]
    return simulated(POLICIES[wanted][0], (pool, longest, requests * 6), 16, record=True).timeline


def replay(yours: dict[str, Stream], wanted: str, block_size: int) -> Compared:
    """The beginning of the answer's stream, under both policies."""
    names = POLICIES[wanted]
    runs = (simulated(name, yours["stream"], block_size, record=True).timeline for name in names)
    one, other = (run[:300] for run in runs if run is not None)
    return compare(one, other, (f"Your stream: {names[0]}", names[1]))
