"""# w18 Blocks behind the window serve others

V1 · sliding window · beside q36

A request gives back the blocks behind its window while it runs, and other requests can still find
them in the cache.

## Expected
A request keeps its blocks until it ends; or, if it gives some back, their content is lost.

## What happens
The window is 5 tokens. When `a` writes its 17th token, it takes block 5 and gives back blocks 1, 2
and 3. In its table they are replaced by block 0, and 9 of 11 blocks are free. `b` has the first 8
tokens of `a`: it finds 4 of them in block 1, and computes the other 4.

## Why
No later token of `a` can see these blocks, so they join the free queue with their hashes, as they
would if `a` had ended. The null block keeps the places in the table: entry 4 is still for the
tokens 16 to 19. V0 drops blocks too, but their content is lost, and its null block is taken from
the pool (q36).

## What to do
Nothing. The scene caches every block (`retention_interval=None`); by default V1 caches fewer (w19).

## Threads
* [vllm#48435](https://github.com/vllm-project/vllm/issues/48435): with every block of the window
  cached, many chats in turn found nothing any more. The reporter ends with the setting of w19.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=12, sliding_window=5, retention_interval=None)
    engine.add("a", range(16))
    engine.steps(2)
    table, free = engine.table("a"), engine.free
    engine.add("b", range(8))
    computed = engine.step()
    return Scene(engine.run, table_of_a=table, free=free, computed=computed)


ANSWER = {"table_of_a": [0, 0, 0, 4, 5], "free": 9, "computed": {"a": 1, "b": 4}}
