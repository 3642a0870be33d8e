"""# g12 Every fourth block is never cached

V1 · groups

Even if windows are cached everywhere, a window with small blocks caches only those that it needs
before the end of a large block.

## Expected
`retention_interval=None` caches every full block: twelve blocks of 2 tokens beside three of 8.

## What happens
The window's blocks 0, 4 and 8 are not cached, the other nine are. Each of these three is the first
of the four small blocks beside a large one.

## Why
A hit can end only where a block of 8 tokens ends (g03). There, the window of 6 tokens needs the
three blocks of 2 before it. The first of every four is never part of a hit, so it is not cached,
and its room is used again sooner.

## What to do
Nothing: nothing is lost. Only do not read the number of cached blocks as a number of tokens.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=60, groups="full/8,window:6/2", retention_interval=None)
    engine.add("a", 25)
    engine.step()
    full, window = engine.scheduler.kv_cache_manager.get_blocks("a").blocks
    cached = [
        [index for index, block in enumerate(table) if block.block_hash is not None]
        for table in (full, window)
    ]
    return Scene(engine.run, cached_of_full=cached[0], cached_of_the_window=cached[1])


ANSWER = {"cached_of_full": [0, 1, 2], "cached_of_the_window": [1, 2, 3, 5, 6, 7, 9, 10, 11]}
