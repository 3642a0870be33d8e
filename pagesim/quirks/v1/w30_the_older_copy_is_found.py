"""# w30 Of two copies, the older one is found

V1 · prefix caching

If a block is cached twice, a lookup finds the copy that was cached first, and the other one once
the first is evicted.

## Expected
One text has one block in the cache. When this block is evicted, the text is lost.

## What happens
`a` and `b` have the same 8 tokens, and the second block of `b` is a copy, block 3 (w04). `c` has
these tokens as well and is given blocks 1 and 2. Then block 2 is evicted. `d` is given blocks 1 and
3.

## Why
The cache keeps, for every hash, all blocks that hold its text, and a lookup takes the oldest. So
all requests share the same copy, and the other copies become free and are evicted sooner.

## What to do
If you write a router that follows the cache's events, count the copies. Evicting block 2 announces
that the hash is removed, although block 3 still has it.

## Threads
* [vllm#55092](https://github.com/vllm-project/vllm/pull/55092): a proposal to announce only the
  last copy.
* [dynamo#8012](https://github.com/ai-dynamo/dynamo/pull/8012): a router that counts.
* [vllm#9668](https://github.com/vllm-project/vllm/pull/9668): the design: the first block of the
  list, always.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=12)
    engine.add("a", range(8))
    engine.add("b", range(8))
    engine.step()
    engine.add("c", range(9))
    engine.step()
    engine.scheduler.kv_cache_manager.evict_blocks([2])
    engine.add("d", range(9))
    engine.step()
    return Scene(engine.run, first_two_blocks={name: engine.table(name)[:2] for name in "abcd"})


ANSWER = {"first_two_blocks": {"a": [1, 2], "b": [1, 3], "c": [1, 2], "d": [1, 3]}}
