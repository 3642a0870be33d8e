"""# q01 A prompt that fails keeps what it took

V0 · blocks · mended

A prompt that finds too few free blocks fails, and the blocks that it took before are lost.

## Expected
A call that fails changes nothing. The four blocks are free again, and a smaller prompt can have
them.

## What happens
The large prompt needs six blocks, and four are free. vLLM's `BlockTable.allocate` takes the four,
one after the other, finds no fifth, and raises NoFreeBlocksError. No table names the four blocks
now, so nobody can ever free them. pagesim undoes the call: all four are free, and the small prompt
takes them.

## Why
The table keeps its blocks only when it has all of them. The error leaves the call before that, and
nothing hands the blocks back.

## What to do
Nothing: the scheduler asks `can_allocate` first, and lets no such prompt through (q40 is the
exception). If you call the block layer yourself, look at `get_num_free_blocks` first.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=4)
    error = error_of(story.arrive, range(24), "large")
    free = story.manager.get_num_free_gpu_blocks()
    small = story.arrive(range(16), "small")
    return Scene(story.run, error=error, free_blocks=free, blocks_of_small=small.block_ids)


ANSWER = {"error": "NoFreeBlocksError", "free_blocks": 4, "blocks_of_small": [0, 1, 2, 3]}
