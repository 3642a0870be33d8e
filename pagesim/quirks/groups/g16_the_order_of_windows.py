"""# g16 The order of the groups decides

V1 · groups

Two models with the same two windows remember a shared beginning or forget it, depending on which
window comes first.

## Expected
The order in which layers are listed makes no difference to the cache.

## What happens
The wide window has lost a block in the middle, so both models find nothing for the same prompt.
With the narrow window first, the lookup also reports that one group had 24 tokens; with the wide
one first, it reports nothing.

## Why
The groups are asked in their order. The narrow window still has its blocks and says 24, and the
wide one then says 0. The other way round, the wide one says 0 at once, and the narrow one is asked
only for what is left, which is nothing. The report is what a later request needs to find the place
(g10). Full attention is always asked first, so a model that has it does not depend on the order.

## What to do
Nothing: this matters only for models whose layers all have windows.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    found = []
    for groups, wide in (("window:5,window:13", 1), ("window:13,window:5", 0)):
        engine = Engine("v1", gpu_blocks=60, groups=groups)
        engine.add("a", range(25))
        engine.steps(2)
        manager = engine.scheduler.kv_cache_manager
        manager.evict_blocks([engine.tables("a")[wide][3]])
        _, hit, best = manager.get_computed_blocks(Request("b", range(25), block_size=4))
        found.append({"tokens found": hit, "reported": best})
    return Scene(engine.run, narrow_first=found[0], wide_first=found[1])


ANSWER = {
    "narrow_first": {"tokens found": 0, "reported": 24},
    "wide_first": {"tokens found": 0, "reported": 0},
}
