"""# w02 The last block of a table is used first

V1 · blocks

Without prefix caching, a table that is freed goes to the front of the free queue, its last block
first.

## Expected
A queue is used in turn: blocks that were just freed wait until all others have been used.

## What happens
`a` gives back blocks 1, 2 and 3. `b` needs four blocks. It is given 3, 2 and 1, and only then block
4, which nobody has used yet.

## Why
A block without a hash is worth no more than its room, so V1 uses it again at once. A table is freed
from its end, and put in front of the queue in this order. V0 hands out the same blocks: its free
list is a stack, on which the last block that was freed lies on top.

## What to do
Nothing: an id says neither how old a block is nor where its tokens are. A test of a kernel or a
connector should use such tables, not 1, 2, 3, 4.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=9, enable_prefix_caching=False)
    engine.add("a", 12)
    engine.step()
    before = engine.table("a")
    engine.abort("a")
    engine.add("b", 16)
    engine.step()
    return Scene(engine.run, table_of_a=before, table_of_b=engine.table("b"))


ANSWER = {"table_of_a": [1, 2, 3], "table_of_b": [3, 2, 1, 4]}
