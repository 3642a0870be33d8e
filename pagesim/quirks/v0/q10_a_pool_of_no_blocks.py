"""# q10 A CPU pool without blocks

V0 · swapping · mended

If the CPU has no blocks, swapping out raises one error without prefix caching, and another with it.

## Expected
No room is no room: both cases raise the same error, NoFreeBlocksError.

## What happens
The CPU has no blocks, and `a` is swapped out. Without prefix caching vLLM raises NoFreeBlocksError.
With prefix caching it raises an AssertionError, which code that waits for NoFreeBlocksError does
not catch. pagesim raises NoFreeBlocksError in both cases, and `a` keeps its blocks.

## Why
vLLM keeps a pool of Block objects for each device, and doubles it when it is empty. The allocator
with caching takes an object before it looks for a free block. A pool that was made for no blocks
stays empty when it is doubled, and an assertion fails.

## What to do
Give the server some `swap_space` if you set `preemption_mode="swap"`, or do not set it.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Story


def scenario() -> Scene:
    errors = {}
    for caching in (False, True):
        story = Story(gpu_blocks=4, caching=caching)
        a = story.arrive(range(8), "a")
        errors["with caching" if caching else "without"] = error_of(a.swap_out)
    return Scene(story.run, errors=errors, blocks_of_a=a.block_ids)


ANSWER = {
    "errors": {"without": "NoFreeBlocksError", "with caching": "NoFreeBlocksError"},
    "blocks_of_a": [0, 1],
}
