"""# g02 The last group's blocks are taken first

V1 · groups

Blocks that are freed together come back in exactly the opposite order, and in another group.

## Expected
The next request gets the blocks 1 and 2 in the first group, as the one before it did.

## What happens
The tables were [1, 2], [3, 4] and [5, 6]. When the request ends, the free queue begins with 6, 5,
4, 3, 2, 1. So the next request gets [6, 5], [4, 3] and [2, 1]: its first group has the blocks of
the last group.

## Why
The groups are freed one after the other. The blocks of a table that cache nothing go to the front
of the queue together, the last one first (w02), so the group that is freed last stands in front.
Prefix caching is off here; with caching, cached blocks go to the back, and wait there to be found
again.

## What to do
Nothing: no group owns an id. Never assume that a block keeps its group, for example in a tool that
copies blocks.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=20, groups="full,window:8*2", enable_prefix_caching=False)
    engine.add("a", 8, max_tokens=1)
    engine.step()
    queue = engine.scheduler.kv_cache_manager.block_pool.free_block_queue
    front = [block.block_id for block in queue.get_all_free_blocks()[:6]]
    engine.add("b", 8)
    engine.step()
    return Scene(engine.run, front_of_the_queue=front, tables_of_b=engine.tables("b"))


ANSWER = {
    "front_of_the_queue": [6, 5, 4, 3, 2, 1],
    "tables_of_b": [[6, 5], [4, 3], [2, 1]],
}
