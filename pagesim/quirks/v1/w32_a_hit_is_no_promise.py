"""# w32 A hit is not a promise

V1 · prefix caching

A lookup reserves nothing: until a request is given its blocks, others may take what it has found.

## Expected
The blocks that a lookup returns are kept for the request.

## What happens
A lookup for `b` finds 12 tokens, in blocks that `a` has left behind. Then `x` needs three blocks
and takes two of them. A second lookup finds 4 tokens.

## Why
`get_computed_blocks` only reads. `allocate_slots` takes the blocks out of the free queue, and from
then on they are safe. The scheduler calls one directly after the other, so nobody comes in between.
In V0 both are one call.

## What to do
If you call the manager yourself, let nothing happen between the two calls, and look up again after
a None. What a router expects to be found is a guess.

## Threads
* [vllm#10507](https://github.com/vllm-project/vllm/pull/10507): the review finds the same mistake
  inside `allocate_slots`: new blocks were taken first, and could be the ones just found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=5)
    look_up = engine.scheduler.kv_cache_manager.get_computed_blocks
    engine.add("a", range(12), max_tokens=1)
    engine.step()
    b = Request("b", range(13), block_size=4)
    first = look_up(b)[1]
    engine.add("x", 12)
    engine.step()
    return Scene(
        engine.run, found=first, table_of_x=engine.table("x"), found_afterwards=look_up(b)[1]
    )


ANSWER = {"found": 12, "table_of_x": [4, 3, 2], "found_afterwards": 4}
