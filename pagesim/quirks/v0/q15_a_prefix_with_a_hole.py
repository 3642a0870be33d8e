"""# q15 A computed prefix with a hole

V0 · prefix caching

The list of a prompt's computed blocks goes on after a block that is not there any more.

## Expected
Only block 0 counts. A prefix ends where the first block is missing.

## What happens
Three blocks of one token each are computed. Block 1 is freed, and evicted because its room is
needed. Asked which of the blocks 0, 1 and 2 are computed, the allocator answers 0 and 2.

## Why
`get_computed_block_ids` picks out of the list what is computed. It does not stop at the first gap.

## What to do
Nothing: a sequence in the scheduler holds all of its blocks, so none of them is evicted. If you use
the list yourself, stop at the first block that is missing. vLLM 0.6.6 stops there.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.timeline.record import record
from pagesim.v0.block.prefix_caching_block import PrefixCachingBlockAllocator


def scenario() -> Scene:
    pool = PrefixCachingBlockAllocator(num_blocks=4, block_size=1)
    with record(pool) as run:
        blocks = pool.allocate_immutable_blocks(None, [[10], [11], [12]])
        pool.mark_blocks_as_computed([])
        pool.free(blocks[1])
        taken = [pool.allocate_mutable_block(None).block_id for _ in range(2)]
    computed = pool.get_computed_block_ids([], [0, 1, 2], False)
    return Scene(run, taken_by_others=taken, computed=computed)


ANSWER = {"taken_by_others": [3, 1], "computed": [0, 2]}
