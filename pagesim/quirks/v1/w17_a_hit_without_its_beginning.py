"""# w17 A hit without the beginning of its text

V1 · sliding window

With a sliding window, a prompt is found if the blocks in the window are cached, even if all before
them are lost.

## Expected
A hit begins with the first block, and ends where the first block is missing.

## What happens
The window is 5 tokens. `a` leaves the four full blocks of its 17 tokens in the cache, and then the
first two are evicted. `b` has the same 17 tokens. It finds 16 of them, and computes 1. The first
three entries of its table are 0, the null block.

## Why
The last token sees itself and the four tokens before it, and those four are all in block 4. Nobody
will read the blocks before it. And block 4 is certainly the right one: its hash includes the hash
of the block before it, and so stands for all 16 tokens.

## What to do
Nothing: this makes caching a window cheap. If a model also has layers with full attention, they
need the beginning, and the shorter of the two hits counts.

## Threads
* [vllm#14097](https://github.com/vllm-project/vllm/pull/14097): windows in V1's manager, and how
  many blocks in a row a hit needs.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=12, sliding_window=5, retention_interval=None)
    engine.add("a", range(17), max_tokens=1)
    engine.step()
    engine.scheduler.kv_cache_manager.evict_blocks([1, 2])
    engine.add("b", range(17))
    computed = engine.step()
    return Scene(engine.run, computed=computed, table=engine.table("b"))


ANSWER = {"computed": {"b": 1}, "table": [0, 0, 0, 4, 5]}
