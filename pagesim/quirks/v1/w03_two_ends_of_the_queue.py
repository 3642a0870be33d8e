"""# w03 A table is freed to both ends of the queue

V1 · eviction

What cannot be found again goes to the front of the free queue, and what is cached goes to its back,
the last block of the table first.

## Expected
A table that is freed joins the queue as one piece, in its own order.

## What happens
`a` has 14 tokens in the blocks 1 to 4. Block 4 is not full, so it is not cached. `b` then needs
every block, and its table shows the order of the queue: block 4, then 5 to 8, which were never
used, and at last 3, 2 and 1.

## Why
The block at the front is overwritten next. Block 4 cannot be found by anyone, so nothing is lost
with it. Among cached blocks, the end of a text goes before its beginning: the beginning is what
others share most often, and without it the rest cannot be found.

## What to do
Nothing: this order keeps what is most useful. When the pool is short, a long conversation is
forgotten from its end.

## Threads
* [vllm#43447](https://github.com/vllm-project/vllm/pull/43447): blocks that are not cached have
  gone to the front since then; before, they pushed cached blocks out.
* [LMCache#443](https://github.com/LMCache/LMCache/issues/443): somebody asks whether a block in the
  middle of a text may be evicted first.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=9)
    engine.add("a", 14)
    engine.step()
    before = engine.table("a")
    engine.abort("a")
    engine.add("b", 32)  # eight blocks: the whole queue
    engine.step()
    return Scene(engine.run, table_of_a=before, table_of_b=engine.table("b"))


ANSWER = {"table_of_a": [1, 2, 3, 4], "table_of_b": [4, 5, 6, 7, 8, 3, 2, 1]}
