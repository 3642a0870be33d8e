"""# g15 A free block that is of no use

V1 · groups

With one block free, a request is preempted for want of a block.

## Expected
The request needs room for one more token, and one block is free. It takes the block.

## What happens
The next token needs a new block in each of two groups. So nothing is allocated in either, and the
only running request preempts itself. It has lost its six blocks and waits.

## Why
A token needs a slot in every group or in none: its keys must be written in all layers. The manager
adds up what all groups need before it takes the first block.

## What to do
Count free blocks in multiples of the number of groups. With 7 groups, up to 6 free blocks are of no
use to a request whose blocks are full; in a pool of thousands this does not matter.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    groups = "full,window:40"
    engine = Engine("v1", gpu_blocks=8, groups=groups, enable_prefix_caching=False)
    engine.add("a", 12)
    engine.step()
    free, tables = engine.free, engine.tables("a")
    engine.step()
    return Scene(engine.run, tables=tables, free_blocks=free, preemptions=engine.preemptions())


ANSWER = {"tables": [[1, 2, 3], [4, 5, 6]], "free_blocks": 1, "preemptions": 1}
