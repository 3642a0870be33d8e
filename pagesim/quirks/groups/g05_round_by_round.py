"""# g05 A hit that shrinks round by round

V1 · groups

Three groups, two of which have lost one or two of their six blocks, agree on a hit of one block.

## Expected
Full attention has all 24 tokens, one window has four of six blocks, the other five. The hit is the
smallest of what they can offer on their own: 12 tokens.

## What happens
The groups are asked in turn. Full attention says 24, the first window 20, the second window 12. At
12 the first window is asked again, and a block is missing there: it says 4. At 4 all agree. So 4 of
24 tokens are found.

## Why
A window's answer depends on where the hit ends, because it needs the blocks just before that place.
Each group that shortens the hit moves this place, and the others must look again. Full attention is
asked only once, because the beginning of its hit is a hit as well.

## What to do
Nothing here. If the hits of your server are all or nothing, look for the group that has lost a
block, and not at the total number of cached blocks.

## Threads
* [vllm#42948](https://github.com/vllm-project/vllm/issues/42948): requests sent again to a model
  with several groups hit nearly everything or nothing; a first block was missing in some group.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    groups = "full,window:9,window:13"
    engine = Engine("v1", gpu_blocks=60, groups=groups, retention_interval=None)
    engine.add("a", range(25))
    engine.step()
    manager, (_, nine, thirteen) = engine.scheduler.kv_cache_manager, engine.tables("a")
    manager.evict_blocks([nine[1], nine[5], thirteen[3]])
    tables = manager.get_blocks("a").blocks
    cached = [sum(block.block_hash is not None for block in table) for table in tables]
    _, hit, best = manager.get_computed_blocks(Request("b", range(25), block_size=4))
    return Scene(engine.run, cached_blocks=cached, tokens_found=hit, tokens_in_the_best_group=best)


ANSWER = {"cached_blocks": [6, 4, 5], "tokens_found": 4, "tokens_in_the_best_group": 24}
