"""# w20 A call that fails has freed blocks

V1 · sliding window

A call of `allocate_slots` that finds no room has already given back the blocks behind the window.

## Expected
A call that answers None has changed nothing.

## What happens
The window is 5 tokens. `a` has 12 tokens in blocks 1, 2 and 3, and 2 blocks are free. Room for 24
more tokens would take six blocks, so the answer is None. But now 4 blocks are free, and the table
of `a` begins with two null blocks.

## Why
The blocks behind the window are dropped before the free ones are counted, so that they count as
room. Nobody will read them, whether the call succeeds or not, so nothing is undone.

## What to do
Nothing: nothing that is needed is lost. If you write a scheduler on top of the manager, read the
table again after a None.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.timeline import record
from pagesim.v1 import KVCacheManager, Request


def scenario() -> Scene:
    manager = KVCacheManager(6, 4, 64, enable_caching=False, sliding_window=5)
    a = Request("a", range(12), block_size=4)
    with record(manager) as run:
        manager.allocate_slots(a, 12)
        a.num_computed_tokens = 12
        before = manager.block_pool.get_num_free_blocks()
        answer = manager.allocate_slots(a, 24)
    table = manager.get_block_ids("a")[0]
    free = manager.block_pool.get_num_free_blocks()
    return Scene(run, free_before=before, answer=answer, table=table, free_afterwards=free)


ANSWER = {"free_before": 2, "answer": None, "table": [0, 0, 3], "free_afterwards": 4}
