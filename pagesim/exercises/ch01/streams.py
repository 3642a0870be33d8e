"""# 1.3 Two streams against the rule ★★

"Pages beat rows, and the more a server knows the better its rows." Find requests for which this
is not so. Write `stream(wanted, block_size)`. It returns `(pool, longest, requests)`: the slots of
the pool (at most 10,000), the longest sequence that the model allows, and at least 50 requests as
`(prompt, answer)`, in tokens. All of them wait from the start.

* `wanted` is `"rows as good as pages"`: the shares of the pool that hold tokens under `max` and
  under `paged`, in pages of `block_size` slots, differ by less than 1 point, and that of `paged`
  is at least 90 %.
* `wanted` is `"oracle worse than pow2"`: under `oracle` the share is at least 1 point *lower* than
  under `pow2`. If you are sure that this cannot be, return None.

`pagesim.simulate([Request("s0", 0.0, prompt, answer), …], policy="max", pool=pool,
max_model_len=longest).waste.mean()["token"]` is the share in percent. (The checker runs `paged`
with `watermark=0.0`.) Rows come from the buddy allocator of exercise 1.2: one of 12 slots costs 16.
An iteration computes at most 2,048 tokens of prompts.

## Hints
1. For the first: when is a row neither reserved nor internal? For the second: what happens to the
   request behind the one that was let in a little too early?
2. For the first, think of prompts that fill the row and answers of one token, of rows that are a
   power of two, and of a pool that is a whole number of them. For the second, draw random streams
   of two or three kinds of requests in pools of two or three rows, and keep the worst.
3. For the first, (8 * 64, 64, [(63, 1)] * 50). For the second, search with longest 16, a pool of
   32, and one long and two short kinds of requests in turn.

## Wrong answers
* long_answers (rows as good as pages): It is enough that every sequence becomes as long as its row
  in the end.
* short_requests (rows as good as pages): An answer of one token reserves next to nothing, so next
  to nothing is lost.
* too_few (rows as good as pages): A handful of requests tells enough.
* nothing_waits (rows as good as pages): When all requests have room, any memory is as good as any
  other.
* cannot_be (oracle worse than pow2): A server that reserves exactly what is needed never does worse
  than one that guesses.

## vLLM
* vllm/core/scheduler.py: Scheduler._schedule_prefills, first come first served as here
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate
"""

from collections.abc import Callable

from pagesim.exercises.kit import Case, Cases, Goal, Random, Timeline
from pagesim.simulation import Paged, Simulation, simulate
from pagesim.simulation.baselines.buddy import power_of_two_from
from pagesim.timeline.pair import Compared, compare
from pagesim.workload import Request

Stream = tuple[int, int, list[tuple[int, int]]]
ROWS, ORACLE = "rows as good as pages", "oracle worse than pow2"
POLICIES = {ROWS: ("max", "paged"), ORACLE: ("oracle", "pow2")}
EXAMPLES = {ROWS: (128, 64, [(63, 1)]), ORACLE: (32, 16, [(9, 2), (3, 3), (1, 3)])}
BUDGET = 2048
"""Tokens of an iteration, where nothing else is said."""


def stream(wanted: str, block_size: int) -> tuple[int, int, list[tuple[int, int]]] | None:
    """A pool, the longest sequence, and requests: (slots, tokens, [(prompt, answer), …]).

    None if there is no such stream. Pages have block_size slots.
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


def call(function: Callable[..., Stream | None], *case: object) -> dict[str, Stream | None]:
    """The student's stream, by name: a missing one is also an answer."""
    return {"stream": function(*case)}


def oracle(wanted: str, block_size: int) -> Goal:
    """Both can be shown."""
    return Goal({"stream": EXAMPLES[ORACLE]}, "a stream that shows it")


def simulated(policy: str, stream: Stream, block_size: int, record: bool = False) -> Simulation:
    """The stream under one of the policies."""
    pool, longest, requests = stream
    memory = Paged(block_size, watermark=0.0) if policy == "paged" else policy
    return simulate(
        [Request(f"s{i}", 0.0, *lengths) for i, lengths in enumerate(requests)],
        policy=memory, pool=pool, max_model_len=longest, record=record, progress=False,
    )  # fmt: skip


def why(yours: dict[str, Stream | None], wanted: str, block_size: int) -> str:
    if (stream := yours["stream"]) is None:
        hole = "may take the hole that a larger request behind it needs"
        search = "Search small pools, with two or three kinds of requests"
        return f"There is: a smaller row is let in earlier, and {hole}. {search}."
    pool, longest, requests = stream
    if len(requests) < 50:
        return "Give at least 50 requests, so that the pool is full most of the time."
    if pool > 10_000 or len(requests) > 1000:
        return "At most 10,000 slots and 1,000 requests, please: a small stream shows as much."
    names = POLICIES[wanted]
    one, other = (simulated(name, stream, block_size).waste.mean()["token"] for name in names)
    shares = f"{names[0]} {one:.1f} % and {names[1]} {other:.1f} %"
    good = abs(one - other) < 1 if wanted == ROWS else one <= other - 1
    if good and (wanted == ORACLE or other >= 90):
        return ""
    got = f"Half empty: {shares}" if good else f"Not shown: {shares} of the slots hold tokens"
    if wanted == ORACLE:
        rule = "leave at least 1 % of the pool more without a token than guessed ones"
        return f"{got}. Exact rows must {rule}."
    if (costs := power_of_two_from(longest)) > longest:
        rule = "a buddy allocator grants rows, and has powers of two only"
        return f"{got}. A row of {longest} slots costs {costs}: {rule}."
    if rest := pool % longest:
        return f"{got}. Beside the last row {rest} slots of the pool are left over."
    if pool > BUDGET and len(requests) >= pool // longest:
        rule = "so requests that leave soon never fill a larger pool"
        return f"{got}. An iteration computes at most {BUDGET:,} tokens of prompts, {rule}."
    if good:
        return "With pages, at least 90 % of the slots must hold tokens, or few requests wait."
    rule = "what it will never use, and what is left of the pool beside the last row"
    lose = f"Rows lose what a request does not use yet, {rule}"
    return f"{got}. {lose}: all three must be next to nothing."


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
