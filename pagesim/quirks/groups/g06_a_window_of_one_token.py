"""# g06 A group that never caches

V1 · groups

If the layers of one group see only the current token, prefix caching finds nothing in any layer.

## Expected
Such layers need nothing from the past. So they agree with any hit, and full attention decides.

## What happens
Full attention has cached four blocks, 16 tokens. The group with a window of one token caches no
block at all. The same prompt comes again, and nothing is found.

## Why
A hit must end behind a cached block of every group. A window of w tokens needs the w - 1 tokens
before the current one; for w = 1 this is zero blocks, so none is ever cached, and none is ever
found. The case "needs nothing" is not told apart from "has nothing".

## What to do
No setting helps. Such a layer should not have a KV cache group: check the window in the model's
configuration.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=60, groups="full,window:1", retention_interval=None)
    engine.add("a", range(17))
    engine.step()
    manager = engine.scheduler.kv_cache_manager
    tables = manager.get_blocks("a").blocks
    cached = [sum(block.block_hash is not None for block in table) for table in tables]
    _, hit, best = manager.get_computed_blocks(Request("b", range(17), block_size=4))
    return Scene(engine.run, cached_blocks=cached, tokens_found=hit, tokens_in_the_best_group=best)


ANSWER = {"cached_blocks": [4, 0], "tokens_found": 0, "tokens_in_the_best_group": 16}
