"""# q03 No room for the copy of a shared block

V0 · sharing · mended

A fork that must copy a shared block, and finds no free one, loses the block and keeps the token.

## Expected
The write fails and changes nothing: both tables still name the shared block.

## What happens
`a` and its fork share two blocks, and the pool has no third. The fork writes a token into the last
block, which must be copied first. vLLM stores the token, drops the fork's share of the block, and
only then looks for a new one. There is none, so it raises NoFreeBlocksError. The fork is left with
a block that has a token and no id. In pagesim two tables still name block 1. When `a` has left, the
fork is alone with the block and writes its token there.

## Why
Three things happen in this order: write, release, allocate. Only the last one can fail.

## What to do
Nothing: `can_append_slots`, which the scheduler asks first, counts a block for a shared last block,
too.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=2)
    a = story.arrive(range(6), "a")
    fork = a.fork("fork")
    error = error_of(fork.write, [6])
    tables = story.manager.block_allocator.get_ref_count(1)
    a.leave()
    fork.write([6])
    return Scene(story.run, error=error, tables_with_block_1=tables, blocks_of_fork=fork.block_ids)


ANSWER = {"error": "NoFreeBlocksError", "tables_with_block_1": 2, "blocks_of_fork": [0, 1]}
