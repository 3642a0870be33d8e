"""# q07 Reserved blocks do not count

V0 · swapping

`can_swap_out` says yes to a request whose reserved blocks do not fit on the CPU.

## Expected
If `can_swap_out` says yes, `swap_out` works.

## What happens
`a` has two full blocks, and a third one that is reserved for lookahead slots. The CPU has two
blocks. `can_swap_out` finds that two blocks are needed. `swap_out` moves the whole table, finds no
room for the third block, and raises NoFreeBlocksError. vLLM has released the blocks on the GPU by
then. In pagesim the failed call changes nothing: `a` still has its three blocks.

## Why
`can_swap_out` counts full blocks, and blocks into which new tokens will be written. An empty
reserved block is neither.

## What to do
If you use lookahead slots (speculative decoding), choose `preemption_mode="recompute"`, or a
`swap_space` that never gets full.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=4, cpu_blocks=2)
    a = story.arrive(range(8), "a")
    a.write(lookahead=4)
    answer = story.manager.can_swap_out(a.group)
    error = error_of(a.swap_out)
    return Scene(story.run, can_swap_out=answer, error=error, blocks_of_a=a.block_ids)


ANSWER = {"can_swap_out": True, "error": "NoFreeBlocksError", "blocks_of_a": [0, 1, 2]}
