"""# o15 Metrics of blocks that nobody could find

V1 · events and metrics

The metrics of how long blocks live count blocks that were never cached, and without prefix caching
they count nothing.

## Expected
`kv_block_lifetime_seconds` and its neighbors describe cached blocks: how long each could be found,
and when it was last used.

## What happens
A block with 3 of 4 tokens never gets a hash. When it is taken again after two seconds, it is
reported: lifetime 2 s, idle 2 s, although a token was written into it after one second. With prefix
caching off, nothing is ever reported.

## Why
A record begins when a block is taken, and ends when its content is given up, which is noted before
anybody looks whether it had a hash. Only a hit counts as an access; writing the next token does
not. Without caching, content is never given up: blocks are just taken again.

## What to do
Do not read the idle time as the time since the block was last used. For the effect of the cache,
look at hits and queries instead.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import KVCacheMetricsCollector


def scenario() -> Scene:
    found, steps = {}, list[dict[str, int]]()
    for caching in (True, False):
        watch = KVCacheMetricsCollector(1.0, clock=lambda: len(steps) * 10**9)  # a step is a second
        engine = Engine("v1", gpu_blocks=4, enable_prefix_caching=caching)
        engine.scheduler.kv_cache_manager.block_pool.metrics_collector = watch
        for name in "ab":
            engine.add(name, 2, max_tokens=2)
            steps.append(engine.step())
            steps.append(engine.step())
        found["with caching" if caching else "without"] = [
            {"lifetime": each.lifetime_seconds, "idle": each.idle_seconds}
            for each in watch.drain_events()
        ]
    return Scene(engine.run, reported=found)


ANSWER = {"reported": {"with caching": [{"lifetime": 2.0, "idle": 2.0}], "without": []}}
