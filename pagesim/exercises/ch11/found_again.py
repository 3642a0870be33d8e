"""11.3: what a preempted request finds when it comes back."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline
from pagesim.v1 import KVCacheManager, Request, RequestStatus

STATEMENT = """
V1 has no swapping. A preempted request gives its blocks back and is computed again later, and
finds what nothing else has taken in the meantime. Write

```python
def found_again(num_tokens, num_computed, num_free, num_taken, block_size):
    return tokens
```

* The request has `num_tokens` tokens; `num_computed` are in its blocks when it is preempted;
* `num_free` other blocks are free then, and none of them is cached;
* before it comes back, other requests take `num_taken` of all these blocks and keep them.

How many tokens does it find? Chapter 11 has the rules. A table is given back from its last block to
its first; a block that is not full goes to the front of the free queue, a full one to its back; new
blocks are taken from the front; what is taken is no longer found. A hit is a run of whole blocks
from the first one on, and leaves at least one token to compute.

Example: `found_again(10, 9, 1, 3, 4)` is 4. Two full blocks and one with a single token come back:
the queue is this third block, the free one, and then the second and the first full block. Three
blocks are taken, and only the first full block is still cached.
"""


def found_again(
    num_tokens: int, num_computed: int, num_free: int, num_taken: int, block_size: int
) -> int:
    """How many tokens a preempted request finds again in the cache."""
    ### BEGIN SOLUTION
    full, rest = divmod(num_computed, block_size)
    before_it = num_free + (rest > 0)
    kept = full - max(0, num_taken - before_it)
    return min(kept, (num_tokens - 1) // block_size) * block_size
    ### END SOLUTION


def _back(
    num_tokens: int, num_computed: int, num_free: int, num_taken: int, block_size: int
) -> tuple[KVCacheManager, Request, Timeline]:
    """The manager and the request when it is looked up again, and what came before."""
    held = -(-num_computed // block_size)
    manager = KVCacheManager(1 + held + num_free, block_size, 10**6)
    with record(manager) as run:
        request = Request("s0", range(num_tokens), block_size=block_size)
        manager.allocate_slots(request, num_computed)
        manager.free(request)
        request.status = RequestStatus.PREEMPTED
        if num_taken:
            other = Request("s1", range(10**6, 10**6 + num_taken * block_size))
            manager.allocate_slots(other, num_taken * block_size, has_scheduled_reqs=False)
    return manager, request, run


def expected(*case: int) -> int:
    """What the KV cache manager finds."""
    manager, request, _ = _back(*case)
    return manager.get_computed_blocks(request)[1]


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Full blocks and a rest, with more and more taken."""
    size = 3 if hidden else 4
    shown = [
        (size + 2, size, 2, 0, "nothing is taken"),
        (size + 1, size - 1, 2, 0, "no block is full"),
        (size + 2, size + 1, 2, 0, "the last block is not full"),
        (size, size, 2, 0, "all of it was computed"),
        (size + 2, size, 1, 1, "others had enough"),
        (size + 2, size, 0, 1, "a full block is taken"),
        (size + 2, size + 1, 0, 1, "the block that is not full is taken"),
        (2 * size + 2, 2 * size, 0, 1, "the end of a chain is taken"),
        (2 * size + 2, 2 * size + 1, 1, 3, "both are taken"),
    ]
    for *values, tag in shown:
        yield _case(*values, size, tag=tag)
    for _ in range(40):
        size = rng.choice((1, 2, 5) if hidden else (1, 2, 4))
        computed = rng.randint(1, 6 * size)
        free = rng.randint(0, 3)
        taken = rng.randint(0, free - (-computed // size))
        yield _case(computed + rng.randint(0, 2), computed, free, taken, size, tag="random")


def _case(*values: Any, tag: str) -> Case:
    num_tokens, num_computed, num_free, num_taken, block_size = values
    told = (
        f"{count(num_tokens, 'token')}, {num_computed} computed; {count(num_free, 'other block')} "
        f"free; {count(num_taken, 'block')} taken; blocks of {block_size}"
    )
    return Case(tuple(values), told, tag)


def why(case: Case, yours: Any, right: Any) -> str:
    num_tokens, num_computed, num_free, num_taken, block_size = case.args
    if yours % block_size:
        return "A hit consists of whole blocks."
    if yours >= num_tokens:
        return "One token at least is computed: there is nothing to sample from otherwise."
    if yours > num_computed:
        return f"Only {num_computed} tokens were computed."
    rest = num_computed % block_size
    queue = f"{count(num_free, 'free block')}, then the full ones, the last one first"
    if rest:
        queue = f"the block with {count(rest, 'token')}, then {queue}"
    return f"The queue is {queue}; {num_taken} of them are taken from its front."


def play(case: Case) -> Timeline:
    """It is preempted, others take blocks, and it comes back if there is room."""
    manager, request, run = _back(*case.args)
    _, found, _ = manager.get_computed_blocks(request)
    return run.annotate(title=f"Preempted: it finds {count(found, 'token')} again")


EXERCISE = Exercise(
    number="11.3",
    title="Preempted, and found again",
    stars=2,
    statement=STATEMENT,
    reference=found_again,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "nothing_is_left": Wrong(
            lambda num_tokens, num_computed, num_free, num_taken, block_size: 0,
            "Preempted is preempted: all of it is computed again.",
            "nothing is taken",
        ),
        "all_that_is_not_taken": Wrong(
            variant(found_again, "num_taken - before_it", "0 * num_taken"),
            "What was computed stays computed.",
            "a full block is taken",
        ),
        "its_own_blocks_go_first": Wrong(
            variant(found_again, "num_free + (rest > 0)", "0 * num_free"),
            "What was freed last is taken first.",
            "others had enough",
        ),
        "the_rest_waits_at_the_back": Wrong(
            variant(found_again, "num_free + (rest > 0)", "num_free"),
            "All of its blocks go to the back of the queue.",
            "the block that is not full is taken",
        ),
        "every_token": Wrong(
            variant(found_again, "(num_tokens - 1) // block_size", "full"),
            "If all of it is cached, nothing is computed.",
            "all of it was computed",
        ),
    },
    hints=(
        "Draw the free queue after the preemption: what stands at its front, what at its back?",
        "In front of the first full block stand the free ones and, if there is one, the block that "
        "is not full. Only what is taken beyond these is lost.",
        "kept = full blocks - max(0, taken - free - (1 if there is a rest)), and a hit has at most "
        "(num_tokens - 1) // block_size blocks.",
    ),
    vllm=(
        "vllm/v1/core/sched/scheduler.py: Scheduler._preempt_request",
        "vllm/v1/core/kv_cache_manager.py: KVCacheManager.free",
        "vllm/v1/core/block_pool.py: BlockPool.free_blocks",
    ),
    release="0.33.0",
    play=play,
)
