"""# g07 Two equal groups share their gaps

V1 · groups

What one of two groups with the same window has lost, the other one has lost as well.

## Expected
Each group keeps its own blocks. The second window has lost its fourth block, the first one still
has all of them.

## What happens
Groups of the same kind are looked up together. The fourth block is missing in one of them, so it
counts as missing in both, and the hit of 16 tokens becomes 12. The request is given the blocks [1,
2, 3], [null, null, 8] and [null, null, 13].

## Why
The layers of both groups need the same tokens, so a block helps only if its counterpart is there.
One lookup for all groups of the same kind gives the same result as one for each, and is cheaper.

## What to do
Nothing, but a model with many groups of windows loses a hit with the first block that any of them
loses. Their blocks are taken from the free queue together, so in practice they are lost together.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=60, groups="full,window:5,window:5", retention_interval=None)
    engine.add("a", range(17))
    engine.step()
    manager = engine.scheduler.kv_cache_manager
    manager.evict_blocks([engine.tables("a")[2][3]])
    blocks, hit, _ = manager.get_computed_blocks(Request("b", range(17), block_size=4))
    return Scene(engine.run, tokens_found=hit, blocks_found=list(blocks.get_block_ids()))


ANSWER = {"tokens_found": 12, "blocks_found": [[1, 2, 3], [0, 0, 8], [0, 0, 13]]}
