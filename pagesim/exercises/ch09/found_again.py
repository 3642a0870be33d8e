"""# 9.4 Preempted, and found again ★★

V1 has no swapping. A preempted request gives its blocks back and is computed again later, and
finds what nothing else has taken in the meantime. Write

```python
def found_again(num_tokens, num_computed, num_free, num_taken, block_size):
    return tokens
```

* The request has `num_tokens` tokens; `num_computed` are in its blocks when it is preempted;
* `num_free` other blocks are free then, and none of them is cached;
* before it comes back, other requests take `num_taken` of all these blocks and keep them.

How many tokens does it find? Chapter 9 has the rules. A table is given back from its last block to
its first; a block that is not full goes to the front of the free queue, a full one to its back; new
blocks are taken from the front; what is taken is no longer found. A hit is a run of whole blocks
from the first one on, and leaves at least one token to compute.

Example: `found_again(10, 9, 1, 3, 4)` is 4. Two full blocks and one with a single token come back:
the queue is this third block, the free one, and then the second and the first full block. Three
blocks are taken, and only the first full block is still cached.

## Hints
1. Draw the free queue after the preemption: what stands at its front, what at its back?
2. In front of the first full block stand the free ones and, if there is one, the block that is not
   full. Only what is taken beyond these is lost.
3. kept = full blocks - max(0, taken - free - (1 if there is a rest)), and a hit has at most
   (num_tokens - 1) // block_size blocks.

## Wrong answers
* nothing_is_left (nothing is taken): Preempted is preempted: all of it is computed again.
* all_that_is_not_taken (a full block is taken): What was computed stays computed.
* its_own_blocks_go_first (others had enough): What was freed last is taken first.
* the_rest_waits_at_the_back (the block that is not full is taken): All of its blocks go to the back
  of the queue.
* every_token (all of it was computed): If all of it is cached, nothing is computed.

## vLLM 0.33.0
* vllm/v1/core/sched/scheduler.py: Scheduler._preempt_request
* vllm/v1/core/kv_cache_manager.py: KVCacheManager.free
* vllm/v1/core/block_pool.py: BlockPool.free_blocks
"""

from pagesim.exercises.kit import Case, Cases, Random, Timeline, count
from pagesim.timeline.record import record as recorded
from pagesim.v1 import KVCacheManager, Request, RequestStatus


def found_again(
    num_tokens: int, num_computed: int, num_free: int, num_taken: int, block_size: int
) -> int:
    """How many tokens a preempted request finds again in the cache."""
    ### BEGIN SOLUTION
    full, rest = divmod(num_computed, block_size)
    before_it = num_free + (rest > 0)
    ### its_own_blocks_go_first: before_it = 0 * num_free
    ### the_rest_waits_at_the_back: before_it = num_free
    kept = full - max(0, num_taken - before_it)
    ### all_that_is_not_taken: kept = full - max(0, 0 * num_taken)
    return min(kept, (num_tokens - 1) // block_size) * block_size
    ### every_token: return min(kept, full) * block_size
    ### nothing_is_left: return 0
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """Full blocks and a rest, with more and more taken."""
    n = 3 if hidden else 4
    for *numbers, tag in (
        (n + 2, n, 2, 0, "nothing is taken"),
        (n + 1, n - 1, 2, 0, "no block is full"),
        (n + 2, n + 1, 2, 0, "the last block is not full"),
        (n, n, 2, 0, "all of it was computed"),
        (n + 2, n, 1, 1, "others had enough"),
        (n + 2, n, 0, 1, "a full block is taken"),
        (n + 2, n + 1, 0, 1, "the block that is not full is taken"),
        (2 * n + 2, 2 * n, 0, 1, "the end of a chain is taken"),
        (2 * n + 2, 2 * n + 1, 1, 3, "both are taken"),
    ):
        yield Case((*numbers, n), tag=str(tag))
    for _ in range(40):
        n = rng.choice((1, 2, 5) if hidden else (1, 2, 4))
        computed, free = rng.randint(1, 6 * n), rng.randint(0, 3)
        taken = rng.randint(0, free - (-computed // n))
        yield Case((computed + rng.randint(0, 2), computed, free, taken, n), tag="random")


def words(num_tokens: int, num_computed: int, *blocks: int) -> str:
    free, taken, size = blocks
    tokens = f"{count(num_tokens, 'token')}, {num_computed} computed"
    others = f"{count(free, 'other block')} free; {count(taken, 'block')} taken"
    return f"{tokens}; {others}; blocks of {size}"


def oracle(
    num_tokens: int, num_computed: int, num_free: int, num_taken: int, block_size: int,
    *, record: bool = True,
) -> tuple[int, Timeline]:  # fmt: skip
    """What the KV cache manager finds when it comes back, preempted, and others took blocks."""
    manager = KVCacheManager(1 + num_free - (-num_computed // block_size), block_size, 10**6)
    with recorded(manager) as run:
        request = Request("s0", range(num_tokens), block_size=block_size)
        manager.allocate_slots(request, num_computed)
        manager.free(request)
        request.status = RequestStatus.PREEMPTED
        if num_taken:
            other = Request("s1", range(10**6, 10**6 + num_taken * block_size))
            manager.allocate_slots(other, num_taken * block_size, has_scheduled_reqs=False)
    found = manager.get_computed_blocks(request)[1]
    return found, run.annotate(title=f"Preempted: it finds {count(found, 'token')} again")


def why(yours: int, num_tokens: int, num_computed: int, *blocks: int) -> str:
    free, taken, size = blocks
    if yours % size:
        return "A hit consists of whole blocks."
    if yours >= num_tokens:
        return "One token at least is computed: there is nothing to sample from otherwise."
    if yours > num_computed:
        return f"Only {num_computed} tokens were computed."
    queue = f"{count(free, 'free block')}, then the full ones, the last one first"
    if rest := num_computed % size:
        queue = f"the block with {count(rest, 'token')}, then {queue}"
    return f"The queue is {queue}; {taken} of them are taken from its front."
