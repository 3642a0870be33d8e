"""# g21 One decode stops all prompts

V1 · states

While one request generates its tokens, a long prompt and everything behind it wait, although nearly
the whole budget is free.

## Expected
The budget is 16 tokens a step, and one request decodes: 15 are left for the prompts that wait.

## What happens
For three steps, only the first request runs, with 3 tokens, then 1, and then 1. The prompt of 40
tokens gets nothing. Behind it, a prompt of 2 tokens waits as well. When the first request has
finished, the long prompt is computed 16 tokens at a time.

## Why
A chunk must end at the end of a block (g20), and a block has 16 tokens. The 13 or 15 tokens that
are left do not reach it, so the chunk would be empty. The request at the head of the queue cannot
be scheduled, and nobody overtakes it.

## What to do
Make `--max-num-batched-tokens` several times the block size. Beside states a block has hundreds or
thousands of tokens (g27), so a budget of 2,048 may be little more than one block.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    limits = {"max_num_batched_tokens": 16}
    engine = Engine("v1", gpu_blocks=60, block_size=16, groups="full,mamba", **limits)
    for name, length in (("short", 3), ("long", 40), ("behind", 2)):
        engine.add(name, length, max_tokens=3)
    return Scene(engine.run, steps=engine.steps(6))


ANSWER = {
    "steps": [
        {"short": 3},
        {"short": 1},
        {"short": 1},
        {"long": 16},
        {"long": 16},
        {"long": 8, "behind": 2},
    ]
}
