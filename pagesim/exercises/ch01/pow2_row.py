"""# 1.2 The allocation of Orca (Pow2) ★★

Orca (Pow2) is a server that knows the length of each output only to within a factor of two. For a
request, the server asks its allocator for one slot per token of the prompt, plus room for the
output: the smallest power of two that is at least as large as the output. But it never asks for
more than `longest` slots, the length of the longest sequence that the model allows.

The allocator is a **buddy allocator**, which hands out only powers of two. If the server asks for
12 slots, the request takes 16 from the pool.

Write `pow2_row(prompt, answer, longest, pool)`. `prompt` and `answer` are the lengths of the prompt
and of the output, in tokens. All requests are alike. The function returns a tuple: how many slots
the server asks for per request, and how many such requests run at the same time in a pool of `pool`
slots.

Example: `pow2_row(8, 3, 64, 64)` is `(12, 4)`. The server asks for 8 + 4 slots, so each request
takes 16, and 64 slots have room for 4 of them.

## Hints
1. Two different numbers are rounded up, one by the server and one by its allocator. Which ones?
2. The server rounds up only the output. The allocator rounds up the whole number of slots that the
   server asks for.
3. `asked` is `min(prompt + guess, longest)`, where `guess` is the smallest power of two that is at
   least `answer`. The number of requests is `pool // granted`, where `granted` is the smallest
   power of two that is at least `asked`.

## Wrong answers
* rounds_both_together (the allocation is no power of two): Prompt and output together are rounded
  up to a power of two.
* granted_as_asked (the allocation is no power of two): A request takes from the pool exactly what
  the server asks for.
* strictly_more (a plain one): The guess must be larger than the output.
* no_limit (longer than the model allows): The server asks for its whole guess, even if no sequence
  may become that long.

## vLLM
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.can_allocate, which has no guess to make
"""

from pagesim.exercises.ch01.served import power_of_two_from, served
from pagesim.exercises.kit import Case, Cases, Random, Timeline, counted
from pagesim.simulation import Simulation
from pagesim.simulation.baselines.contiguous import ask_pow2
from pagesim.workload import Request

Pair = tuple[int, int]


def pow2_row(prompt: int, answer: int, longest: int, pool: int) -> tuple[int, int]:
    """The slots that Orca (Pow2) asks for, and how many such requests run at once.

    prompt, answer: tokens of each prompt and output; longest: the longest sequence that the model
    allows; pool: slots of the cache. All requests are alike, and there are enough of them.
    """
    ### BEGIN SOLUTION
    guess = 1
    while guess < answer:
        ### rounds_both_together: while guess < prompt + answer:
        ### strictly_more: while guess <= answer:
        guess *= 2
    asked = min(prompt + guess, longest)
    ### rounds_both_together: asked = min(guess, longest)
    ### no_limit: asked = prompt + guess
    granted = 1
    while granted < asked:
        granted *= 2
    return asked, pool // granted
    ### granted_as_asked: return asked, pool // asked
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Short sequences first, in a pool of a few rows; then random ones."""
    pool = 48 if hidden else 64
    kinds = [(total - n, n, 16, pool) for total in range(2, 12) for n in range(1, total)]
    for _ in range(30):
        longest = rng.choice((16, 32, 64, 100))
        prompt = rng.randint(1, longest - 1)
        kinds.append((prompt, rng.randint(1, longest - prompt), longest, rng.randint(128, 600)))
    for prompt, answer, longest, pool in kinds:
        row = prompt + power_of_two_from(answer)
        tag = "a plain one" if row.bit_count() == 1 else "the allocation is no power of two"
        tag = "the output is no power of two" if row > prompt + answer else tag
        tag = "longer than the model allows" if row > longest else tag
        yield Case((prompt, answer, longest, pool), tag=tag)


def oracle(prompt: int, answer: int, longest: int, pool: int) -> Pair:
    """What the simulation asks for, and its largest batch."""
    run = simulated(pool // (prompt + answer) + 1, prompt, answer, longest, pool)
    asked = ask_pow2(Request("s0", 0.0, prompt, answer), longest)
    return asked, int(run.waste.column("batch").max())


def simulated(num: int, *request: int, record: bool = False) -> Simulation:
    """So many requests of this kind, all there from the start."""
    prompt, answer, longest, pool = request
    limits = {"max_num_seqs": num, "max_num_batched_tokens": num * longest}
    return served("pow2", [(prompt, answer)] * num, pool, longest, record=record, **limits)


def play(*request: int) -> Timeline | None:
    """As many requests as find room, and one that waits."""
    return simulated(oracle(*request)[1] + 1, *request, record=True).timeline


def why(yours: Pair, right: Pair, prompt: int, answer: int, longest: int, pool: int) -> str:
    asked, batch = right
    guess = power_of_two_from(answer)
    if yours[0] == asked:
        costs = power_of_two_from(asked)
        grants = f"A buddy allocator hands out powers of two, so {asked} slots cost {costs}"
        return f"{grants}. A pool of {pool} slots has room for {counted(batch, 'such request')}."
    if yours[0] == power_of_two_from(prompt + answer):
        known = f"Then the prompt of {counted(prompt, 'token')} is added"
        return f"Only the output is rounded up, to {guess}. {known}."
    if asked == longest:
        return f"No sequence can be longer than {longest}, so the server never asks for more slots."
    power = f"The smallest power of two for an output of {answer} is {guess}"
    return f"{power}. With the prompt, that makes {asked}."
