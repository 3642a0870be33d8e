"""# 9.4 Preempted, and found again ★★

V1 has no swapping. When a request is preempted, its blocks are freed, and the request is computed
again later. But when it returns, it finds those of its blocks that no other request has taken in
the meantime. Write

```python
def found_again(num_tokens, num_computed, num_free, num_taken, block_size):
    return tokens
```

* The request has `num_tokens` tokens. `num_computed` of them are in its blocks when it is
  preempted;
* `num_free` other blocks are free at that moment, and none of them is cached;
* before the request returns, other requests take `num_taken` of all these blocks and keep them.

How many tokens does the request find? The rules are those of chapter 9:

* The blocks of a table are freed from the last to the first. A block that is not full goes to the
  front of the free queue, and a full block goes to its back.
* New blocks are taken from the front. A block that was taken is no longer found.
* The request finds a run of whole blocks that begins with its first block. At least one token is
  left to compute.

Example: `found_again(10, 9, 1, 3, 4)` is 4. The request frees two full blocks and one with a single
token. So the queue is the block with the single token, the other free block, the second full block,
and the first full block. Three blocks are taken, and only the first full block is still cached.

## Hints
1. Draw the free queue after the preemption. Which blocks are at its front, and which are at its
   back?
2. In front of the full blocks are the other free blocks and, if there is one, the block that is not
   full. Full blocks are lost only if more blocks than these are taken.
3. Let `full` be `num_computed // block_size`, and `rest` be 1 if one more block is partly filled,
   else 0. Then `full - max(0, num_taken - num_free - rest)` full blocks are still cached. At most
   `(num_tokens - 1) // block_size` blocks can be found.

## Wrong answers
* nothing_is_left (nothing is taken): After a preemption, all tokens of the request are computed
  again.
* all_that_is_not_taken (a full block is taken): What was computed stays in the cache, whatever
  others take.
* its_own_blocks_go_first (others had enough): The block that was freed last is taken first.
* the_rest_waits_at_the_back (the block that is not full is taken): All blocks of the request go to
  the back of the queue.
* every_token (all of it was computed): If all tokens are cached, none is computed.

## vLLM 0.33.0
* vllm/v1/core/sched/scheduler.py: Scheduler._preempt_request
* vllm/v1/core/kv_cache_manager.py: KVCacheManager.free
* vllm/v1/core/block_pool.py: BlockPool.free_blocks
"""

from pagesim.exercises.kit import Case, Cases, Random, Timeline, counted, recorded
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
    tokens = f"{counted(num_tokens, 'token')}, {num_computed} computed"
    others = f"{counted(free, 'other block')} free; {counted(taken, 'block')} taken"
    return f"{tokens}; {others}; blocks of {size}"


def oracle(*numbers: int, record: bool = True) -> tuple[int, Timeline]:
    """What the KV cache manager finds when it comes back, preempted, and others took blocks."""
    num_tokens, num_computed, num_free, num_taken, block_size = numbers
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
    return found, run.annotate(title=f"Preempted, and {counted(found, 'token')} found again")


def why(yours: int, num_tokens: int, num_computed: int, *blocks: int) -> str:
    free, taken, size = blocks
    if yours % size:
        return "Only whole blocks are found."
    if yours >= num_tokens:
        return "At least one token must be computed. Otherwise there is nothing to sample from."
    if yours > num_computed:
        return f"Only {num_computed} tokens had been computed."
    rest = num_computed % size
    front = [f"the block with {counted(rest, 'token')}"] * bool(rest)
    front += [counted(free, "other block")] * bool(free)
    queue = ", then ".join([*front, "the full blocks from the last to the first"])
    return f"The queue is {queue}. Others take {counted(taken, 'block')} from its front."
