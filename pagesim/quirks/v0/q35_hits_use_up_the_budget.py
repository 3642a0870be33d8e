"""# q35 Hits use up the token budget

V0 · prefix caching · beside w04

A prompt that is cached completely still takes its full length out of the step's token budget.

## Expected
`b` and `c` begin with the eight tokens of `a`, which are cached. So both fit easily into a step of
12 tokens.

## What happens
`b` counts as eight tokens, and `c` as nine. Together they exceed the budget of 12, so `c` waits for
the next step. What the model really computes is less: four tokens of `b` and one of `c`, because
all blocks of a prompt but the last one count as computed.

## Why
The scheduler fills the step first, by the lengths of the prompts. Which blocks are hits is found
out afterwards, when the blocks are allocated.

## What to do
With many long common prefixes, raise `max_num_batched_tokens`: the steps are smaller than they
seem. vLLM 0.6.6 counts only what is not cached.

## Threads
* [vllm#7883](https://github.com/vllm-project/vllm/issues/7883): a developer describes the order of
  these decisions, and what it costs.
* [vllm#10128](https://github.com/vllm-project/vllm/pull/10128): the scheduler learns what is cached
  before it fills the step.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    options = {"enable_prefix_caching": True, "max_num_batched_tokens": 12}
    engine = Engine("v0", gpu_blocks=8, watermark=0.0, **options)
    engine.add("a", range(8), max_tokens=1)
    engine.step()
    engine.add("b", range(8))
    engine.add("c", range(9))
    steps = engine.steps(2)
    blocks = {name: engine.table(name) for name in "bc"}
    return Scene(engine.run, steps=steps, blocks=blocks)


ANSWER = {"steps": [{"b": 8}, {"c": 9}], "blocks": {"b": [0, 1], "c": [0, 1, 2]}}
