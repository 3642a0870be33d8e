"""6.2: swap a forked group out so that its sequences still share their blocks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.story import Story
from pagesim.timeline.run import Timeline

Tables = list[list[int]]
Pairs = list[tuple[int, int]]

STATEMENT = """
Forks share blocks. When vLLM 0.6.4 swaps their group out, each table is moved by itself and a
shared block is copied once for every table: the sharing is lost (chapter 6, section 3). Do better:

```python
def swap_out(tables, free, num_gpu_blocks):
    return cpu_tables, pairs
```

* `tables`: the block tables of the group's sequences, lists of GPU block ids;
* `free`: the free block ids of the CPU, in the order in which they are taken. Ids are numbered
  across both pools: the first block of the CPU is `num_gpu_blocks`;
* `cpu_tables`: the same tables with the ids on the CPU. What was shared is still shared;
* `pairs`: the copies, one for each block that moves: (GPU index, CPU index). An *index* counts
  from 0 in each pool.

Example: with 8 GPU blocks, `swap_out([[0, 1], [0, 1]], [8, 9, 10], 8)` is
`([[8, 9], [8, 9]], [(0, 0), (1, 1)])`.

Which free blocks you take is up to you. The checker moves the bytes with `CacheEngine`, reads them
through your tables, and counts the blocks and the copies.
"""


def swap_out(
    tables: list[list[int]], free: list[int], num_gpu_blocks: int
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """The tables of a group on the CPU, and the copies (GPU index, CPU index)."""
    ### BEGIN SOLUTION
    moved: dict[int, int] = {}
    for table in tables:
        for block in table:
            if block not in moved:
                moved[block] = free[len(moved)]
    pairs = [(block, target - num_gpu_blocks) for block, target in moved.items()]
    return [[moved[block] for block in table] for table in tables], pairs
    ### END SOLUTION


BLOCK_SIZE, GPU_BLOCKS, CPU_BLOCKS = 2, 8, 12


def _group(prompt: int, forks: int, written: int) -> Story:
    """A prompt with forks of it, each of which has written so many tokens of its own."""
    story = Story(GPU_BLOCKS, CPU_BLOCKS, BLOCK_SIZE)
    s0 = story.arrive(range(prompt))
    for _ in range(forks):
        s0.fork()
    for writer in story.writers:
        writer.write([100 * (writer.seq.seq_id + 1) + i for i in range(written)])
    return story


def _tables(story: Story) -> Tables:
    return [writer.block_ids for writer in story.writers]


def expected(tables: Tables, free: list[int], num_gpu_blocks: int) -> Goal:
    """As many blocks as on the GPU, a copy for each, and every table reads what it read there."""
    number = len({block for table in tables for block in table})
    return Goal(
        accepts=lambda yours: not fault(yours, tables, free, num_gpu_blocks),
        like=([[0]], [(0, 0)]),
        words=f"{number} blocks in use, {number} copied, and each table reads what it read",
    )


def fault(yours: Any, tables: Tables, free: list[int], num_gpu_blocks: int) -> str:
    """What is wrong with an answer; nothing if it is right. The bytes are moved and read."""
    import numpy as np

    from pagesim.cache.cache_engine import CacheEngine, KVPool

    cpu_tables, pairs = yours
    if [len(table) for table in cpu_tables] != [len(table) for table in tables]:
        return "Every sequence keeps its number of blocks."
    if not {block for table in cpu_tables for block in table} <= set(free):
        return f"The tables may name free blocks only, and their ids begin at {num_gpu_blocks}."
    cpu_blocks = 1 + max(free) - num_gpu_blocks
    engine = CacheEngine(
        KVPool.zeros(1, num_gpu_blocks, 1, 1, 1), KVPool.zeros(1, cpu_blocks, 1, 1, 1)
    )
    engine.gpu.keys[0][:, 0, 0, 0] = np.arange(num_gpu_blocks)
    engine.cpu.keys[0][:] = -1
    try:
        engine.swap_out(pairs[: cpu_blocks + 1])
    except (UsageError, TypeError) as error:
        return f"The copies cannot be made: {error}."
    content = engine.cpu.keys[0][:, 0, 0, 0].astype(int).tolist()
    for number, (before, after) in enumerate(zip(tables, cpu_tables, strict=True)):
        found = [content[block - num_gpu_blocks] for block in after]
        if found != before:
            read = ["nothing" if block < 0 else block for block in found]
            return f"On the CPU table {number} reads what was in the blocks {read}, not {before}."
    number = len({block for table in tables for block in table})
    if len({block for table in cpu_tables for block in table}) != number:
        return "A block that several tables name moves once, and all of them name its new place."
    if len(pairs) != number:
        return "One copy is enough for each block, however many tables name it."
    return ""


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    small = [(2, 0, 0), (4, 0, 0), (2, 1, 0), (4, 1, 0), (3, 1, 1), (4, 1, 1), (4, 2, 1)]
    for shape in (
        [(rng.randint(1, 6), rng.randint(0, 2), rng.randint(0, 2)) for _ in range(12)]
        if hidden
        else small
    ):
        tables = _tables(_group(*shape))
        free = list(range(GPU_BLOCKS, GPU_BLOCKS + CPU_BLOCKS))
        used = len({block for table in tables for block in table})
        for some in (free, rng.sample(free, len(free)), rng.sample(free, used)):
            yield Case((tables, some, GPU_BLOCKS), tag=_tag(tables))


def _tag(tables: Tables) -> str:
    blocks = [block for table in tables for block in table]
    if len(tables) == 1:
        return "one sequence"
    own = len(blocks) > len(set(blocks)) and len({tuple(table) for table in tables}) > 1
    return "a shared prefix" if own else "all blocks shared"


def why(case: Case, yours: Any, right: Any) -> str:
    return fault(yours, *case.args)


def play(case: Case) -> Timeline:
    """vLLM's way, for comparison: it takes a block for every entry of every table."""
    tables = case.args[0]
    length = len(tables[0]) * BLOCK_SIZE
    story = _group(length, len(tables) - 1, 0)
    story.writers[0].swap_out()
    return story.run.annotate(title="What vLLM 0.6.4 does: the forks come apart")


def _each_table(tables: Tables, free: list[int], num_gpu_blocks: int) -> tuple[Tables, Pairs]:
    results = []
    for table in tables:
        results.append(swap_out([table], free, num_gpu_blocks))
        free = free[len(table) :]
    return [t for ts, _ in results for t in ts], [p for _, pairs in results for p in pairs]


def _ids(tables: Tables, free: list[int], num_gpu_blocks: int) -> tuple[Tables, Pairs]:
    cpu_tables, pairs = swap_out(tables, free, num_gpu_blocks)
    return cpu_tables, [(old, new + num_gpu_blocks) for old, new in pairs]


def _turned(tables: Tables, free: list[int], num_gpu_blocks: int) -> tuple[Tables, Pairs]:
    cpu_tables, pairs = swap_out(tables, free, num_gpu_blocks)
    return cpu_tables, [(new, old) for old, new in pairs]


def _copied_often(tables: Tables, free: list[int], num_gpu_blocks: int) -> tuple[Tables, Pairs]:
    cpu_tables, _ = swap_out(tables, free, num_gpu_blocks)
    return cpu_tables, [
        (old, new - num_gpu_blocks)
        for table, cpu_table in zip(tables, cpu_tables, strict=True)
        for old, new in zip(table, cpu_table, strict=True)
    ]


EXERCISE = Exercise(
    number="6.2",
    title="Swap without losing the sharing",
    stars=2,
    statement=STATEMENT,
    reference=swap_out,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "each_table_by_itself": Wrong(
            _each_table,
            "Every table needs blocks of its own on the CPU, as in vLLM 0.6.4.",
            "all blocks shared",
        ),
        "ids_for_indices": Wrong(
            _ids, "A pair holds the ids that stand in the tables.", "one sequence"
        ),
        "turned_round": Wrong(_turned, "A pair is (CPU, GPU) in both directions.", "one sequence"),
        "one_copy_a_table": Wrong(
            _copied_often,
            "A shared block must be copied for every table that names it.",
            "all blocks shared",
        ),
    },
    hints=(
        "Remember for each GPU block where it went.",
        "A dict from GPU ids to CPU ids: enter a block when you meet it for the first time.",
        "moved[block] = free[len(moved)] for each new block; then translate every table by moved, "
        "and make a pair (block, moved[block] - num_gpu_blocks) of each entry.",
    ),
    vllm=(
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.swap_out",
        "vllm/core/block/cpu_gpu_block_allocator.py: CpuGpuBlockAllocator.swap",
        "vllm/worker/cache_engine.py: CacheEngine.swap_out",
    ),
    play=play,
)
