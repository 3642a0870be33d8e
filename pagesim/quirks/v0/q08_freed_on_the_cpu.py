"""# q08 A swap after a sequence was freed on the CPU

V0 · swapping · mended

When a swapped-out sequence is freed, a later swap of another one can fail with an IndexError.

## Expected
A sequence that leaves while it is swapped out gives its CPU blocks back, and that is all.

## What happens
`a` is swapped out and leaves. Then `b`, which is just as long, is swapped out and in. In vLLM this
can end with an IndexError, although all blocks are free. In pagesim `b` gets its four blocks, and
all blocks of the CPU are free again.

## Why
vLLM does not throw its `Block` objects away: each device keeps a pool of them. A block object that
comes from one device's pool, and is freed on the other device, goes into the other's pool. So one
pool has too many objects, and the other runs out of them. pagesim makes new objects instead.

## What to do
Choose `preemption_mode="recompute"`: what is never swapped out is never freed on the CPU.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=4, cpu_blocks=4)
    a = story.arrive(range(16), "a")
    a.swap_out()
    a.leave()
    b = story.arrive(range(16), "b")
    errors = [error_of(b.swap_out), error_of(b.swap_in)]
    free = story.manager.get_num_free_cpu_blocks()
    return Scene(story.run, errors=errors, blocks_of_b=b.block_ids, free_cpu_blocks=free)


ANSWER = {"errors": ["none", "none"], "blocks_of_b": [0, 1, 2, 3], "free_cpu_blocks": 4}
