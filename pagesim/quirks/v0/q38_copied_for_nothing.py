"""# q38 A copy for no token

V0 · sharing

Appending no tokens to a shared block copies the block, unless prefix caching is on.

## Expected
Nothing is written, so nothing is copied.

## What happens
A table with one block is forked, and an empty list of tokens is appended to the shared block.
Without caching ("naive"), the fork moves to block 1, and block 0 has to be copied there. With
caching the block stays shared.

## Why
After each append, whatever was appended, the plain block asks whether it is shared. The caching
block returns at once if there is nothing to append.

## What to do
Nothing: the engine appends at least one token in every step. If you call `append_token_ids`
yourself, leave out empty lists.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.timeline.record import record
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator


def scenario() -> Scene:
    copies = {}
    for kind in ("prefix_caching", "naive"):
        pools = CpuGpuBlockAllocator.create(kind, 4, 0, 4)
        with record(pools) as run:
            table = BlockTable(4, pools)
            table.allocate([10, 11])
            table.fork().blocks[0].append_token_ids([])
        copies[kind] = pools.clear_copy_on_writes()
    return Scene(run, copies=copies)


ANSWER = {"copies": {"prefix_caching": [], "naive": [(0, 1)]}}
