"""# g11 The output is computed again

V1 · groups

In the second turn of a chat, a model with sliding windows finds the first prompt, but not its own
output.

## Expected
The second prompt begins with the first one and its output. Both were computed, so both are found.

## What happens
The first prompt has 16 tokens, its output 12, and the new question 5. By default, 12 tokens are
found and 21 are computed again. If windows are cached everywhere (`retention_interval=None`), 28
are found and 5 are computed.

## Why
With the default, a window is kept only before the end of the prompt (g09). While tokens are
generated, the windows that are passed are given back and not cached. The new lookup finds the
window before the first prompt's end, at token 12.

## What to do
For chats with long outputs, set `--prefix-cache-retention-interval`. An interval shorter than a
typical output lets the next turn find most of it.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    computed = {}
    for interval in (None, 0):  # 0 is the default
        engine = Engine("v1", gpu_blocks=60, groups="full,window:5", retention_interval=interval)
        first = engine.add("turn 1", range(16), max_tokens=14)
        engine.steps(14)
        engine.add("turn 2", [*first.all_token_ids[:28], *range(40, 45)])
        computed[f"interval {interval}"] = engine.step()["turn 2"]
    return Scene(engine.run, tokens_computed_of_33=computed)


ANSWER = {"tokens_computed_of_33": {"interval None": 5, "interval 0": 21}}
