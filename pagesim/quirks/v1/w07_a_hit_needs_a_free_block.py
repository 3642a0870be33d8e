"""# w07 A hit can cost a free block

V1 · prefix caching

A cached block that no request holds counts as free, and a hit on it uses up one free block.

## Expected
Three of the four blocks that `b` needs are cached, so one free block is enough.

## What happens
`a` has left three cached blocks, and they are all that is free: `x` holds the fourth. `b` finds its
first 12 tokens in them. It still waits, because it needs four free blocks, and there are three.

## Why
Blocks that nobody holds wait in the free queue, cached or not. A hit takes its block out of the
queue, as a new block would be taken. Only a hit on a block that somebody holds at the moment costs
nothing. V0 is stricter: its test counts every block of a prompt, even those in use (q29).

## What to do
Do not expect the cache to make room for more requests. Every hit saves computing, but only a hit on
a block in use saves memory: of 8 cached blocks, those in the free queue cost as much as new ones.

## Threads
* [vllm#11565](https://github.com/vllm-project/vllm/pull/11565): the review works out that hits must
  be subtracted from the free blocks, but only those that are in the queue.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=5)
    engine.add("a", range(12), max_tokens=1)
    engine.step()
    engine.add("x", 1)
    engine.step()
    b = engine.add("b", range(13))
    step = engine.step()
    found = engine.scheduler.kv_cache_manager.get_computed_blocks(b)[1]
    return Scene(engine.run, step=step, found_by_b=found, free=engine.free, waiting=engine.waiting)


ANSWER = {"step": {"x": 1}, "found_by_b": 12, "free": 3, "waiting": ["b"]}
