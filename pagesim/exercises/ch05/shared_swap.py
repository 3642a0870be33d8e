"""# 5.2 Swap and stay shared ★★

Forks share blocks. When vLLM 0.6.4 swaps out their group, it moves each table by itself, and it
copies a shared block once for every table. On the CPU, nothing is shared any more (chapter 5,
section 3). Do better:

```python
def swap_out(tables, free, num_gpu_blocks):
    return cpu_tables, pairs
```

* `tables`: the block tables of the group's sequences, as lists of GPU block ids;
* `free`: the ids of the free CPU blocks, in the order in which they are taken. The ids of the CPU's
  blocks continue those of the GPU's, so the first CPU block has the id `num_gpu_blocks`;
* `cpu_tables`: the same tables with CPU ids. What was shared must still be shared;
* `pairs`: one copy for each block that moves, as (GPU index, CPU index). In each pool, indices
  count from 0, so the first CPU block has the index 0.

Example: with 8 GPU blocks, `swap_out([[0, 1], [0, 1]], [8, 9, 10], 8)` is
`([[8, 9], [8, 9]], [(0, 0), (1, 1)])`.

You may use any of the free blocks. `check` moves the bytes with `CacheEngine`, reads them through
your tables, and counts the blocks and the copies.

## Hints
1. For each GPU block, remember which CPU block it moves to.
2. Use a dict from GPU ids to CPU ids. Add a block to the dict when you first meet it.
3. For each new block, set `moved[block] = free[len(moved)]`. Then translate every table with
   `moved`, and make a pair `(block, moved[block] - num_gpu_blocks)` from each entry of `moved`.

## Wrong answers
* each_table_by_itself (all blocks shared): Every table needs blocks of its own on the CPU, as in
  vLLM 0.6.4.
* ids_for_indices (one sequence): A pair holds the ids that are in the tables.
* turned_round (one sequence): A pair names the CPU block first.
* one_copy_a_table (all blocks shared): A shared block must be copied for every table that names it.

## vLLM
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.swap_out
* vllm/core/block/cpu_gpu_block_allocator.py: CpuGpuBlockAllocator.swap
* vllm/worker/cache_engine.py: CacheEngine.swap_out
"""

import numpy as np

from pagesim.cache.cache_engine import CacheEngine, KVPool
from pagesim.errors import UsageError
from pagesim.exercises.kit import Case, Cases, Goal, Random, Story, Timeline, counted, parted

Tables = list[list[int]]
Pairs = list[tuple[int, int]]


def swap_out(
    tables: list[list[int]], free: list[int], num_gpu_blocks: int
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """The tables of a group on the CPU, and the copies (GPU index, CPU index)."""
    ### BEGIN SOLUTION
    moved: dict[int, int] = {}
    for table in tables:
        ### each_table_by_itself: for number, table in enumerate(tables):
        for block in table:
            ### each_table_by_itself: for block in [(number, block) for block in table]:
            if block not in moved:
                moved[block] = free[len(moved)]
    pairs = [(block, target - num_gpu_blocks) for block, target in moved.items()]
    ### each_table_by_itself: pairs = [(block, target - num_gpu_blocks)
    ### each_table_by_itself:     for (_, block), target in moved.items()]
    ### ids_for_indices: pairs = list(moved.items())
    ### turned_round: pairs = [(to - num_gpu_blocks, block) for block, to in moved.items()]
    ### one_copy_a_table: pairs = [(block, moved[block] - num_gpu_blocks)
    ### one_copy_a_table:     for table in tables for block in table]
    return [[moved[block] for block in table] for table in tables], pairs
    ### each_table_by_itself: return [[moved[number, block] for block in table]
    ### each_table_by_itself:     for number, table in enumerate(tables)], pairs
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """A prompt, forks of it, and tokens of their own; many free blocks, or just enough."""
    shapes = [(2, 0, 0), (4, 0, 0), (2, 1, 0), (4, 1, 0), (3, 1, 1), (4, 1, 1), (4, 2, 1)]
    if hidden:
        shapes = [(rng.randint(1, 6), rng.randint(0, 2), rng.randint(0, 2)) for _ in range(12)]
    for shape in shapes:
        tables = [writer.block_ids for writer in group(*shape).writers]
        tag = "one sequence" if len(tables) == 1 else "all blocks shared"
        if sum(map(len, tables)) > in_use(tables) and tables[0] != tables[1]:
            tag = "a shared prefix"
        free = list(range(8, 20))
        for some in (free, rng.sample(free, len(free)), rng.sample(free, in_use(tables))):
            yield Case((tables, some, 8), tag=tag)


def group(prompt: int, forks: int, written: int) -> Story:
    """A prompt with forks of it, each of which has written so many tokens of its own."""
    story = Story(gpu_blocks=8, cpu_blocks=12, block_size=2)
    s0 = story.arrive(range(prompt))
    for _ in range(forks):
        s0.fork()
    for number, writer in enumerate(story.writers, 1):
        writer.write([100 * number + i for i in range(written)])
    return story


def in_use(tables: Tables) -> int:
    return len({block for table in tables for block in table})


def oracle(tables: Tables, free: list[int], num_gpu_blocks: int) -> Goal:
    """As many blocks as on the GPU, a copy for each, and every table reads what it read there."""
    number = in_use(tables)
    used = f"{counted(number, 'CPU block')} in use, {number} copied"
    return Goal(([[0]], [(0, 0)]), f"{used}, and each table reads what it did before")


def why(yours: tuple[Tables, Pairs], tables: Tables, free: list[int], num_gpu_blocks: int) -> str:
    cpu_tables, pairs = yours
    if [*map(len, cpu_tables)] != [*map(len, tables)]:
        return "Every sequence must keep its number of blocks."
    if not {block for table in cpu_tables for block in table} <= set(free):
        return f"The tables may name only free CPU blocks, and their ids begin at {num_gpu_blocks}."
    cpu_blocks = 1 + max(free) - num_gpu_blocks
    gpu, cpu = (KVPool.zeros(1, blocks, 1, 1, 1) for blocks in (num_gpu_blocks, cpu_blocks))
    gpu.keys[0][:, 0, 0, 0] = np.arange(num_gpu_blocks)
    cpu.keys[0][:] = -1
    try:
        CacheEngine(gpu, cpu).swap_out(pairs[: cpu_blocks + 1])
    except (UsageError, TypeError) as error:
        return f"The copies cannot be made: {error}."
    content = cpu.keys[0][:, 0, 0, 0].astype(int).tolist()
    for number, (before, after) in enumerate(zip(tables, cpu_tables, strict=True)):
        found = [content[block - num_gpu_blocks] for block in after]
        if found != before:
            place = parted(found, before)
            there = "nothing" if found[place] < 0 else f"what was in GPU block {found[place]}"
            entry = f"Entry {place} of CPU table {number} leads to {there}"
            return f"{entry}. It must lead to what was in GPU block {before[place]}."
    if in_use(cpu_tables) != in_use(tables):
        return "A block that several tables name must move once, and then all must name its new id."
    if len(pairs) != in_use(tables):
        return "One copy of each block is enough, however many tables name it."
    return ""


def play(tables: Tables) -> Timeline:
    """What vLLM does, for comparison: it takes a block for every entry of every table."""
    story = group(2 * len(tables[0]), len(tables) - 1, 0)
    story.writers[0].swap_out()
    return story.run.annotate(title="What vLLM 0.6.4 does: the forks no longer share")
