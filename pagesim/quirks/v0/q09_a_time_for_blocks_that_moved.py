"""# q09 The time of last use, for blocks that have moved

V0 · swapping · mended

With prefix caching, freeing a sequence that is swapped out raises a KeyError.

## Expected
The sequence leaves, and its blocks on the CPU become free.

## What happens
The scheduler has noted when `a` was last computed. When `a` leaves, the note is passed on to its
blocks, so that those used longest ago are evicted first. vLLM looks for them on the GPU, but they
are on the CPU, so it raises a KeyError. pagesim passes the time on to the blocks where they are,
and all blocks of both devices are free.

## Why
Only the GPU's allocator is told. It does not know the ids of the CPU's blocks.

## What to do
Do not combine prefix caching with `preemption_mode="swap"`. q23 shows how a client meets this.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=4, cpu_blocks=4, caching=True)
    a = story.arrive(range(6), "a")
    story.manager.access_all_blocks_in_seq(a.seq, 1.0)
    a.swap_out()
    error = error_of(a.leave)
    manager = story.manager
    free = {"GPU": manager.get_num_free_gpu_blocks(), "CPU": manager.get_num_free_cpu_blocks()}
    return Scene(story.run, error=error, free_blocks=free)


ANSWER = {"error": "none", "free_blocks": {"GPU": 4, "CPU": 4}}
