"""# 2.3 The free list ★★

Sequences arrive and leave. A sequence that arrives takes the blocks that it needs from the free
list. When it leaves, its blocks are freed.

Write `free_list_after(num_blocks, ops)`. The function returns the free list at the end, in the
order in which the blocks would be taken. `ops` is a list of what happens:

* `("in", name, blocks)`: a sequence of this name arrives and takes `blocks` blocks;
* `("out", name)`: the sequence of this name leaves.

At the beginning, the blocks 0 to `num_blocks - 1` are free, in this order.

Example: `free_list_after(6, [("in", "a", 2), ("out", "a")])` is `[1, 0, 2, 3, 4, 5]`. Section 2 of
the chapter has the rule behind this order.

## Hints
1. Which block was freed last? That block is taken first.
2. The blocks of a table are freed from the first to the last. Each of them goes to the front of the
   free list.
3. When a sequence arrives, cut its blocks off the front of the list. When it leaves, go through its
   table with `for block in table`, and call `free.insert(0, block)`.

## Wrong answers
* first_in_first_out (one block comes back): The block that has been free the longest is taken
  first.
* sorted (a table comes back): The free block with the lowest id is taken first.
* as_a_run (a table comes back): The blocks of a table go back together and keep their order.
* taken_from_the_end (nothing left yet): Blocks are taken from the end of the list.

## vLLM
* vllm/core/block/naive_block.py: NaiveBlockAllocator._allocate_block_id, _free_block_id
* vllm/core/block/block_table.py: BlockTable.free
"""

from typing import Any

from pagesim.exercises.kit import Case, Cases, Ops, Random, Story, lost, ops_in_words, some_ops
from pagesim.v0.block.interfaces import Device


def free_list_after(num_blocks: int, ops: list[tuple[Any, ...]]) -> list[int]:
    """The free list, in the order in which blocks will be taken, after these operations.

    ops: ("in", name, blocks): a sequence arrives whose prompt needs so many blocks;
    ("out", name): it leaves. At first blocks 0 to num_blocks - 1 are free, in this order.
    """
    ### BEGIN SOLUTION
    free = list(range(num_blocks))
    tables: dict[str, list[int]] = {}
    for op in ops:
        name = op[1]
        if op[0] == "in":
            tables[name] = free[: op[2]]
            ### taken_from_the_end: tables[name] = free[-op[2] :]
            free = free[op[2] :]
            ### taken_from_the_end: free = free[: -op[2]]
        else:
            for block in tables.pop(name):
                ### as_a_run: free = tables.pop(name) + free
                free.insert(0, block)
                ### first_in_first_out: free.append(block)
                ### as_a_run:
    return free
    ### sorted: return sorted(free)
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """One sequence, then two in both orders, then many at random."""
    n = 7 if hidden else 6
    for blocks in (1, 2, 3):
        arrives = ("in", "a", blocks)
        yield Case((n, [arrives]), tag="nothing left yet")
        tag = "one block comes back" if blocks == 1 else "a table comes back"
        yield Case((n, [arrives, ("out", "a")]), tag=tag)
    for a, b in ((1, 1), (2, 1), (1, 2), (2, 2)):
        here = [("in", "a", a), ("in", "b", b)]
        for name in "ab":
            yield Case((n, [*here, ("out", name)]), tag="one of two leaves")
        for first, last in ("ab", "ba"):
            gone = [("out", first), ("out", last)]
            yield Case((n, [*here, *gone]), tag="both leave")
            yield Case((n, [*here, *gone, ("in", "c", a + b)]), tag="one comes after")
    for _ in range(30):
        yield Case((16, some_ops(rng, 5)), tag="many")


def words(num_blocks: int, ops: Ops) -> str:
    return f"{num_blocks} blocks; {ops_in_words(ops, 'block')}"


def oracle(num_blocks: int, ops: Ops, *, record: bool = False) -> tuple[list[int], Story]:
    """The free list of the block manager."""
    story = Story(gpu_blocks=num_blocks, block_size=4, record=record)
    here = {}
    for op in ops:
        if op[0] == "in":
            here[op[1]] = story.arrive(range(4 * op[2]), name=op[1])
        else:
            here.pop(op[1]).leave()
    return list(story.manager.block_allocator.free_block_ids(Device.GPU)), story


def why(yours: list[int], right: list[int], num_blocks: int, ops: Ops) -> str:
    if problem := lost(yours, right):
        return problem
    if ops[-1][0] == "in":
        return "A sequence takes its blocks from the front of the list. The rest keeps its order."
    before, _ = oracle(num_blocks, ops[:-1])
    back = [block for block in right if block not in before]
    if yours == sorted(right):
        freed = f"first {', then '.join(map(str, back[::-1]))}"
        return f"The list is never sorted. Freed blocks go to its front one by one: {freed}."
    if yours[-len(back) :] == back[::-1]:
        return "A freed block goes to the front of the list, so it is the first to be taken again."
    rule = "The blocks of a table are freed in order, and each goes to the front of the list"
    return f"{rule}. So the last block of the table, {back[0]} here, ends up first."
