"""# g03 Full blocks that are not cached

V1 · groups

If groups have blocks of different sizes, nothing is cached until the text reaches a place where
blocks of all groups end.

## Expected
A block is cached as soon as it is full. With blocks of 4 tokens in one group and 8 in the other,
seven tokens fill one block of the first group.

## What happens
After 7 tokens, no block is cached in either group. After 13 tokens, two blocks of 4 tokens and one
of 8 are cached: those that end at or before token 8. The third block of 4 ends at token 12, and is
not cached until the text reaches token 16.

## Why
A hit must end where blocks of all groups end: at a multiple of the least common multiple of their
block sizes, 8 here. Blocks behind the last such place could never be part of a hit, so vLLM rounds
down first, for every group.

## What to do
Compare your shared prefixes with the line "hits end" of `pagesim size`. A prefix that is shorter
hits nothing. Where you may choose `--block-size`, choose sizes that divide each other.

## Threads
* [vllm-ascend#16270](https://github.com/vllm-project/vllm-ascend/issues/16270): groups with blocks
  of 2 to 4,096 tokens, so no prompt below 4,096 tokens was ever cached.
* [vllm-ascend#13627](https://github.com/vllm-project/vllm-ascend/issues/13627): a hit rate of zero
  turned out to be prompts that were too short for this.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    limits = {"max_num_batched_tokens": 7}
    engine = Engine("v1", 60, groups="window:9,full/8", retention_interval=None, **limits)
    engine.add("a", 13)  # computed in two steps, of 7 and 6 tokens
    cached = []
    for _ in range(2):
        engine.step()
        tables = engine.scheduler.kv_cache_manager.get_blocks("a").blocks
        cached.append([sum(block.block_hash is not None for block in table) for table in tables])
    return Scene(engine.run, cached_after_7=cached[0], cached_after_13=cached[1])


ANSWER = {"cached_after_7": [0, 0], "cached_after_13": [2, 1]}
