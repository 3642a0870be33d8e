"""# g01 A table for every group

V1 · groups

A model with three KV cache groups takes three blocks for what looks like one.

## Expected
A prompt of 15 tokens needs four blocks of 4 tokens.

## What happens
The prompt needs twelve blocks: each group of layers has a block table of its own, with four blocks
in it. The groups are served in turn, so the ids come in runs: 1 to 4, 5 to 8, 9 to 12. Of 59 usable
blocks, 47 are left, and `kv_cache_usage_perc` says 20 % for this one prompt.

## Why
All groups draw from one pool, and a block belongs to one group at a time. This is not a waste: a
block of one group holds the bytes of only a third of the layers. Several tables have an advantage:
each group drops and keeps its blocks by its own rules, and what a sliding window drops can be used
by all.

## What to do
Nothing, but never multiply the number of blocks by the block size to get tokens. The log line `GPU
KV cache size` has the number of tokens, and `pagesim size` explains it.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=60, groups="full,window:8,window:8")
    engine.add("a", 15)
    engine.step()
    return Scene(engine.run, tables=engine.tables("a"), free_blocks=engine.free)


ANSWER = {
    "tables": [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]],
    "free_blocks": 47,
}
