"""# g23 One block for the whole request

V1 · states

Without prefix caching, a request has one block for its state, however long it becomes.

## Expected
The tables of all groups grow together, or at least the state moves on to a new block from time to
time, as it does with prefix caching.

## What happens
Full attention has six blocks after 21 tokens: 1 to 5, and 7. The state has stayed in block 6.

## Why
States are kept at the ends of blocks only for other requests to find. Without caching nobody looks
for them, so vLLM makes the state's block as long as a sequence may become (`max_model_len`), and
overwrites it token by token.

## What to do
If your prompts share nothing, turn prefix caching off for a hybrid model: each request then holds
fewer blocks, and chunks need not end where blocks end.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    groups = "full,mamba:none/512"  # no sequence is longer than 512 tokens
    engine = Engine("v1", gpu_blocks=60, groups=groups, enable_prefix_caching=False)
    engine.add("a", 17)
    engine.steps(5)
    full, state = engine.tables("a")
    return Scene(engine.run, blocks_of_full=full, blocks_of_the_state=state)


ANSWER = {"blocks_of_full": [1, 2, 3, 4, 5, 7], "blocks_of_the_state": [6]}
