"""# q36 A block that the window keeps

V0 · sliding window · beside w18

The first block that leaves a sliding window costs the pool one block until the server ends.

## Expected
Blocks outside the window are free for others. When all requests have left, all blocks are free.

## What happens
`a` and `b` run in a pool of 11 blocks. For a window of five tokens, V0 keeps the block that is
being written and the three before it. The 17th token of `a` begins a fifth block, so the first one
is freed, and its entry in the table becomes the null block, block 4. When both requests have left,
10 of the 11 blocks are free: the null block is never given back. The content of the dropped block
is lost, too: V0 does not combine windows with prefix caching.

## Why
A table must not get shorter, because the place of an entry says which tokens it holds. So something
has to stand in the place of a dropped block. V0 takes a block of the pool for this when the first
one is dropped. V1 reserves block 0 from the start.

## What to do
Nothing: it is one block in all, for all requests.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v0", gpu_blocks=11, watermark=0.0, sliding_window=5)
    engine.add("a", range(16))
    engine.steps(2)
    engine.add("b", range(8))
    step, table = engine.step(), engine.table("a")
    for name in "ab":
        engine.abort(name)
    return Scene(engine.run, step=step, blocks_of_a=table, free_at_the_end=engine.free)


ANSWER = {"step": {"b": 8}, "blocks_of_a": [4, 1, 2, 3, 0], "free_at_the_end": 10}
