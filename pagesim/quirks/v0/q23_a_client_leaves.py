"""# q23 A client leaves while its request is swapped out

V0 · swapping · mended

With prefix caching, aborting a request that is swapped out raises a KeyError.

## Expected
The request ends, and its blocks on the CPU become free.

## What happens
`a` and `b` fill the GPU, so `b` is swapped out in the second step. Then its client closes the
connection. vLLM's `abort_seq_group` raises a KeyError while it frees the blocks of `b`. In pagesim
the request is gone, and all four blocks of the CPU are free.

## Why
The scheduler notes when a request was last computed, and the note is passed on to the GPU's
allocator. But the blocks of `b` are on the CPU, so the GPU's allocator does not know them (q09 is
the same error without a scheduler).

## What to do
Do not combine prefix caching with `preemption_mode="swap"`.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Engine


def scenario() -> Scene:
    blocks = {"gpu_blocks": 4, "cpu_blocks": 4, "enable_prefix_caching": True}
    engine = Engine("v0", watermark=0.0, preemption_mode="swap", **blocks)
    engine.add("a", 8)
    engine.add("b", 8)
    engine.steps(2)
    swapped = engine.swapped
    error = error_of(engine.abort, "b")
    free = engine.scheduler.block_manager.get_num_free_cpu_blocks()
    return Scene(engine.run, swapped=swapped, error=error, free_cpu_blocks=free)


ANSWER = {"swapped": ["b"], "error": "none", "free_cpu_blocks": 4}
