"""# w21 A block is evicted while it is in use

V1 · eviction

`evict_blocks` makes a block impossible to find, and leaves it in the table that uses it.

## Expected
A block that a request holds cannot be evicted.

## What happens
Block 2 is evicted while `a` holds it. `a` keeps its table and goes on. A new prompt with the same
tokens finds 4 of them, because the chain now breaks after block 1. After `a` has left, `b` takes
the whole pool: block 2 comes first, and blocks 3 and 1 come last.

## Why
To evict means to forget the hash. vLLM does this when the bytes of a block could not be loaded from
elsewhere, so that no other request finds them. A block without a hash then goes to the front of the
free queue (w03).

## What to do
Nothing. Block 3 keeps its hash and its place in the cache, although nobody can find it until a
block with the tokens of block 2 is cached again.

## Threads
* [vllm#26813](https://github.com/vllm-project/vllm/pull/26813): what happens to blocks that could
  not be loaded; the review discusses those that several requests share.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=9)
    manager = engine.scheduler.kv_cache_manager
    engine.add("a", range(12))
    engine.step()
    manager.evict_blocks([2])
    found = manager.get_computed_blocks(Request("new", range(13), block_size=4))[1]
    table = engine.table("a")
    engine.abort("a")
    engine.add("b", 32)  # eight blocks: the whole queue
    engine.step()
    return Scene(engine.run, table_of_a=table, found=found, table_of_b=engine.table("b"))


ANSWER = {"table_of_a": [1, 2, 3], "found": 4, "table_of_b": [2, 4, 5, 6, 7, 8, 3, 1]}
