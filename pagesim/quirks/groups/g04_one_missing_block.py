"""# g04 One lost block shortens the hit of all layers

V1 · groups

If a group with a sliding window has lost one block, all groups lose the part of the hit behind it.

## Expected
Full attention still has the whole prompt, so at least its layers need not compute it again. Or: a
window needs only its last tokens, so an early block that is missing costs nothing.

## What happens
The prompt has 25 tokens, of which 24 can be found. The window of 9 tokens needs two cached blocks
in a row. Without its last block the hit is 20 tokens, without the last but one it is 16. Without
the third from the end it is still 24: nobody looks at that one.

## Why
A layer can go on only from a token for which all other layers have what they need as well. So the
manager asks each group, and the smallest answer wins. As a third value it returns how many tokens
the best group has, 24 here: the place is worth remembering (g10).

## What to do
Find the group that said no: in a recorded run, the event of the lookup names what each group has
found. More memory, or fewer conversations at a time, keep the blocks of a window from being taken.

## Threads
* [vllm#48435](https://github.com/vllm-project/vllm/issues/48435): chats that took turns hit nothing
  at all once they filled a quarter of the pool: the blocks of their windows had been taken.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    found = {}
    for lost in (5, 4, 3):
        engine = Engine("v1", gpu_blocks=60, groups="full,window:9", retention_interval=None)
        engine.add("a", range(25))
        engine.step()
        manager = engine.scheduler.kv_cache_manager
        manager.evict_blocks([engine.tables("a")[1][lost]])
        _, hit, best = manager.get_computed_blocks(Request("b", range(25), block_size=4))
        found[f"without block {lost}"] = {"hit": hit, "best group": max(hit, best)}
    return Scene(engine.run, tokens_found=found)


ANSWER = {
    "tokens_found": {
        "without block 5": {"hit": 20, "best group": 24},
        "without block 4": {"hit": 16, "best group": 24},
        "without block 3": {"hit": 24, "best group": 24},
    }
}
