"""# 9.1 The free queue of vLLM V1 ★★

This is exercise 2.3 again, in today's vLLM. V1 caches every full block, and it has a single queue
instead of a stack and an evictor. Write `free_queue_after(num_blocks, ops, block_size)`. The
function returns the queue at the end, from front to back. `ops` is a list of what happens:
`("in", name, tokens)` says that a prompt of so many tokens arrives, and `("out", name)` that it
leaves.

* Block 0 is the null block, which is never free. At the beginning, the queue holds the blocks 1 to
  `num_blocks - 1`.
* A prompt takes its blocks from the front.
* The blocks of a table are freed from the last to the first. Blocks that are not full go to the
  **front** of the queue. Full blocks may be found again, so they go to its **back**.

Example: `free_queue_after(6, [("in", "a", 6), ("out", "a")], 4)` is `[2, 3, 4, 5, 1]`, because
block 2 was not full. No two prompts have a block in common. Chapter 9 explains why V1 does it this
way.

## Hints
1. A block that can be found again should last as long as possible. Which end of the queue is best
   for it?
2. A prompt of n tokens has `n // block_size` full blocks, at the beginning of its table.
3. Let `full` be the number of full blocks in the table. The new queue is `table[full:]` reversed,
   then `free`, then `table[:full]` reversed.

## Wrong answers
* as_in_v0 (a full block): The block that was freed last is taken first, as in V0.
* all_to_the_back (a block that is not full): In a queue, every block that is freed goes to the end.
* first_to_last (two full blocks): The blocks of a table are freed from the first to the last.
* block_0_is_free (nothing left yet): All blocks are free at the beginning.
* a_partial_block_is_cached (a block that is not full): Every block of a prompt is cached.

## vLLM 0.33.0
* vllm/v1/core/block_pool.py: BlockPool.free_blocks
* vllm/v1/core/kv_cache_utils.py: FreeKVCacheBlockQueue.prepend_n, append_n
"""

from typing import Any

from pagesim.exercises.kit import Case, Cases, Ops, Random, Story, lost, ops_in_words, some_ops


def free_queue_after(num_blocks: int, ops: list[tuple[Any, ...]], block_size: int) -> list[int]:
    """The free queue of vLLM V1, front first, after these operations.

    ops: ("in", name, tokens): a prompt of `tokens` tokens arrives; ("out", name): it leaves. At
    first blocks 1 to num_blocks - 1 are free, in this order. No two prompts have a block in common.
    """
    ### BEGIN SOLUTION
    free = list(range(1, num_blocks))
    ### block_0_is_free: free = list(range(num_blocks))
    tables: dict[str, tuple[list[int], int]] = {}
    for op in ops:
        name = op[1]
        if op[0] == "in":
            needed = -(-op[2] // block_size)
            tables[name] = free[:needed], op[2] // block_size
            ### a_partial_block_is_cached: tables[name] = free[:needed], needed
            free = free[needed:]
        else:
            table, full = tables.pop(name)
            free = table[full:] + free + table[:full][::-1]
            ### as_in_v0: free = table[::-1] + free
            ### all_to_the_back: free = free + table[::-1]
            ### first_to_last: free = table[full:] + free + table[:full]
    return free
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """One sequence, then two, then many."""
    n, size = (9, 3) if hidden else (6, 4)
    for tokens, tag in (
        (1, "a block that is not full"),
        (size, "a full block"),
        (2 * size, "two full blocks"),
        (size + 1, "a full block and another"),
        (2 * size + 1, "two full blocks and another"),
    ):
        arrives = ("in", "a", tokens)
        yield Case((n, [arrives], size), tag="nothing left yet")
        yield Case((n, [arrives, ("out", "a")], size), tag=tag)
    for gone in ("ab", "ba"):
        ops = [("in", "a", size + 1), ("in", "b", size), *(("out", name) for name in gone)]
        yield Case((n, ops, size), tag="both leave")
        yield Case((n, [*ops, ("in", "c", 3 * size)], size), tag="one comes after")
    for _ in range(30):
        size = rng.choice((2, 3, 4))
        yield Case((16, some_ops(rng, 5 * size), size), tag="many")


def words(num_blocks: int, ops: Ops, block_size: int) -> str:
    return f"{num_blocks} blocks of {block_size}; {ops_in_words(ops, 'token')}"


def oracle(
    num_blocks: int, ops: Ops, block_size: int, *, record: bool = False
) -> tuple[list[int], Story]:
    """The queue of V1's block pool."""
    story = Story(num_blocks, block_size=block_size, caching=True, record=record, engine="v1")
    here = {}
    for number, (what, name, *tokens) in enumerate(ops):
        if what == "in":
            here[name] = story.arrive(range(1000 * number, 1000 * number + tokens[0]), name=name)
        else:
            here.pop(name).leave()
    queue = story.manager.block_pool.free_block_queue
    return [block.block_id for block in queue.get_all_free_blocks()], story


def why(yours: list[int], right: list[int], num_blocks: int, ops: Ops, block_size: int) -> str:
    if 0 in yours:
        return "Block 0 is the null block, which is never free."
    if problem := lost(yours, right):
        return problem
    if ops[-1][0] == "in":
        return "A prompt takes its blocks from the front of the queue. The rest keeps its order."
    before, _ = oracle(num_blocks, ops[:-1], block_size)
    front = right[: right.index(before[0])] if before else []
    if front and yours[: len(front)] != front:
        return f"A block that is not full goes to the front, so {front} comes first."
    rule = "A full block is cached and goes to the back of the queue, where it lasts longest"
    order = "the last block is freed first, so the end of a chain is taken before its beginning"
    return f"{rule}. Within a table, {order}: {right}."
