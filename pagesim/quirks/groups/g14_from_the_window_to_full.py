"""# g14 A block changes its group

V1 · groups

A block that a window has just dropped becomes the next block of full attention, in the same step.

## Expected
A block that held keys of the window layers goes on to hold keys of the window layers.

## What happens
The first chunk of 8 tokens takes blocks 1 and 2 for full attention, and 3 and 4 for the window. In
the second chunk the window no longer needs block 3. It gives the block back, and full attention
takes it at once: its table is [1, 2, 3, 5].

## Why
There is one pool for all groups, and a dropped block that caches nothing goes to the front of the
free queue. The window gives its blocks back before anybody takes new ones. Its table keeps its
length: the entry of block 3 becomes the null block, 0.

## What to do
Nothing in vLLM. A connector that copies blocks in the background must know that a window's block
can be overwritten in the next step.

## Threads
* [vllm#30166](https://github.com/vllm-project/vllm/pull/30166): a window's blocks are taken for the
  whole prompt and given back one step later, which was dangerous for connectors.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    options = {"max_num_batched_tokens": 8, "enable_prefix_caching": False}
    engine = Engine("v1", gpu_blocks=9, groups="full,window:5", **options)
    engine.add("a", 16)
    tables = []
    for _ in range(2):
        engine.step()
        tables.append(engine.tables("a"))
    return Scene(engine.run, after_8_tokens=tables[0], after_16_tokens=tables[1])


ANSWER = {
    "after_8_tokens": [[1, 2], [3, 4]],
    "after_16_tokens": [[1, 2, 3, 5], [0, 4, 6, 7]],
}
