"""# q42 A swap after the window has moved on

V0 · sliding window · mended

A sequence whose first blocks have left its sliding window cannot be swapped out: vLLM raises a
ValueError.

## Expected
The blocks inside the window move to the CPU. The null block stays, because it has no content.

## What happens
Two blocks of `a` are outside the window, and the null block, block 5, stands in their place. vLLM
tries to swap it out like any other block. It releases the null block, which others may need, and
then raises a ValueError. In pagesim four blocks move, and the null block stays in the table.

## Why
The swap goes through the table, and treats all entries alike. The null block does not accept
another id.

## What to do
With a sliding window choose `preemption_mode="recompute"`, the default.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(cpu_blocks=8, sliding_window=4)
    a = story.arrive(range(20), "a")
    a.seq.data.update_num_computed_tokens(20)
    a.write([20])
    before = a.block_ids
    error = error_of(a.swap_out)
    return Scene(story.run, error=error, on_the_gpu=before, on_the_cpu=a.block_ids)


ANSWER = {
    "error": "none",
    "on_the_gpu": [5, 5, 2, 3, 4, 1],
    "on_the_cpu": [5, 5, 12, 13, 14, 15],
}
