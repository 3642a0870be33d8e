"""# g22 Chunks of 12, 4, 12 and 4 tokens

V1 · states

If a block is larger than the budget of a step, every second step is mostly empty.

## Expected
With a budget of 12 tokens, a prompt of 40 tokens has chunks of 12, 12, 12 and 4.

## What happens
The chunks have 12, 4, 12, 4 and 8 tokens. That is five steps, and two of them use a third of the
budget.

## Why
No chunk can reach the end of a block of 16 tokens. So the scheduler takes a chunk as large as the
budget, and ends the next one where the block ends: only there can the state be kept for others.

## What to do
Never choose `--max-num-batched-tokens` below the block size that vLLM logs at its start.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    limits = {"max_num_batched_tokens": 12}
    engine = Engine("v1", gpu_blocks=60, block_size=16, groups="full,mamba", **limits)
    engine.add("a", 40, max_tokens=1)
    chunks = [step["a"] for step in engine.steps(8) if step]
    return Scene(engine.run, chunks=chunks)


ANSWER = {"chunks": [12, 4, 12, 4, 8]}
