"""# q14 Two equal prompts in one step

V0 · prefix caching · beside w05

Of two equal prompts in one step, the second shares the blocks of the first and is computed as well.

## Expected
What is shared is computed once. For the second prompt, only the last token is computed.

## What happens
`a` and `b` have the same nine tokens. `b` gets the blocks 0 and 1 of `a`, so the memory is shared
at once. But the step computes nine tokens for each of them. Both write the same keys and values
into the same two blocks, and the work is done twice. None of the blocks counts as computed for `b`.

## Why
A block counts as computed only after the step in which its tokens are computed. Within the step V0
has no way to let `b` wait for `a`, so it computes both.

## What to do
Send one request with the common prefix first, and the others when its first token has arrived.

## Threads
* [vllm#9643](https://github.com/vllm-project/vllm/issues/9643): somebody asks whether two requests
  of one batch fill the same blocks. The answer is that such a prefix is computed several times.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v0", gpu_blocks=12, watermark=0.0, enable_prefix_caching=True)
    engine.add("a", range(9))
    b = engine.add("b", range(9))
    step = engine.step()
    blocks = {name: engine.table(name) for name in "ab"}
    computed = engine.scheduler.block_manager.get_common_computed_block_ids(b.seqs)
    return Scene(engine.run, step=step, blocks=blocks, computed_before_b=computed)


ANSWER = {
    "step": {"a": 9, "b": 9},
    "blocks": {"a": [0, 1, 2], "b": [0, 1, 3]},
    "computed_before_b": [],
}
