"""# q29 Hits cost as much as misses

V0 · prefix caching

A prompt that is cached completely is admitted only if there are free blocks for its whole length.

## Expected
`b` has the same prompt as `a`, which is running. All blocks of the prompt are there, so `b` needs
no new one.

## What happens
`a` has three of four blocks, and `b` would share all three. But the scheduler wants three free
blocks, and one is free. So `b` waits until `a` ends. Then all four blocks count as free, although
the three blocks of the prompt are still cached, and `b` shares them.

## Why
`can_allocate` counts the blocks of the prompt before anybody looks for hits. And a cached block
that nobody holds counts as free, because it can be evicted at any time.

## What to do
V0 has no setting for this: expect that a full pool delays even cached prompts. In V1, hits that are
in use need no free blocks.

## Threads
* [vllm#7883](https://github.com/vllm-project/vllm/issues/7883): a developer names this as one of
  two inefficiencies: a prompt of 16 blocks with 12 hits should need 4.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v0", gpu_blocks=4, watermark=0.0, enable_prefix_caching=True)
    engine.add("a", range(12), max_tokens=2)
    engine.add("b", range(12))
    steps = [engine.step()]
    free = [engine.free]
    steps.append(engine.step())
    free.append(engine.free)
    steps.append(engine.step())
    return Scene(engine.run, steps=steps, free_blocks=free, blocks_of_b=engine.table("b"))


ANSWER = {
    "steps": [{"a": 12}, {"a": 1}, {"b": 12}],
    "free_blocks": [1, 4],
    "blocks_of_b": [0, 1, 2],
}
