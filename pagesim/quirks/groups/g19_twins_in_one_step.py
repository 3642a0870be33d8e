"""# g19 Twins in one step

V1 · states

Of two equal prompts that arrive together, the second one is left out of the first step if the model
has states.

## Expected
Both are in the first step. The second computes only what the first does not, as with full
attention: blocks can be shared before they are computed.

## What happens
With a window, the first step computes 16 tokens of one and 4 of the other. With a state, it
computes 12 tokens of the first, and nothing of the second. The second step computes 4 tokens of
each.

## Why
All tokens of a step are computed side by side, layer by layer: keys that one request writes can be
read by the other in the same layer. A state is written at the end of the chunk, so the second
request must not begin from it in the same step. To make it wait, the manager reports that the
request needs more blocks than there are.

## What to do
Nothing: one step of waiting is cheaper than 12 tokens computed twice.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    steps = []
    for other in ("window:9", "mamba"):
        engine = Engine("v1", gpu_blocks=60, groups=f"full,{other}")
        engine.add("a", range(16))
        engine.add("b", range(16))
        steps.append(engine.steps(2))
    return Scene(engine.run, with_a_window=steps[0], with_a_state=steps[1])


ANSWER = {
    "with_a_window": [{"a": 16, "b": 4}, {"a": 1, "b": 1}],
    "with_a_state": [{"a": 12}, {"a": 4, "b": 4}],
}
