"""# q34 A freed table that still counts its tokens

V0 · blocks · mended

A block table that has been freed still says how many tokens it held.

## Expected
A table without blocks holds no tokens.

## What happens
The table holds six tokens and is freed. In vLLM its `num_full_slots` is still 6, and the table
answers as if it held them, for example when it is asked how many blocks an append would touch. In
pagesim it is 0.

## Why
`free` empties the list of blocks, and leaves the count.

## What to do
Nothing: the manager throws a freed table away. If you use `BlockTable` yourself, do the same.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.timeline.record import record
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator


def scenario() -> Scene:
    pools = CpuGpuBlockAllocator.create("naive", 4, 0, 4)
    with record(pools) as run:
        table = BlockTable(4, pools)
        table.allocate(range(6))
        held = table.num_full_slots
        table.free()
    return Scene(run, tokens_before=held, tokens_after=table.num_full_slots)


ANSWER = {"tokens_before": 6, "tokens_after": 0}
