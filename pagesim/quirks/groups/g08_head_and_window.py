"""# g08 Three blocks lost, and a full hit

V1 · groups

A window may lose its first blocks without any harm; full attention that loses its first block loses
everything.

## Expected
Three lost blocks are worse than one.

## What happens
The window group loses its first three blocks of four. The prompt of 17 tokens still finds 16. Then
full attention loses its first block, one of four, and nothing is found.

## Why
The next token sees the last 5 tokens through the window: one block before the current one is
enough. Full attention sees all tokens, and a hit is a beginning without gaps.

## What to do
Nothing: vLLM frees a table from its last block to its first, so the first block of full attention
is lost last, as it should be.

## Threads
* [vllm#14097](https://github.com/vllm-project/vllm/pull/14097): introduced this: a hit needs only
  the last tokens of a window.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=60, groups="full,window:5", retention_interval=None)
    engine.add("a", range(17))
    engine.step()
    manager, (full, window) = engine.scheduler.kv_cache_manager, engine.tables("a")
    found = []
    for lost in (window[:3], full[:1]):
        manager.evict_blocks(lost)
        found.append(manager.get_computed_blocks(Request("b", range(17), block_size=4))[1])
    return Scene(engine.run, without_three_of_the_window=found[0], and_one_of_full=found[1])


ANSWER = {"without_three_of_the_window": 16, "and_one_of_full": 0}
