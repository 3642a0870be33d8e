"""# g09 One token shorter, and nothing is found

V1 · groups

By default, a model with sliding windows finds a prompt again only if it is at least as long as
before.

## Expected
A prompt of 25 tokens has been computed. Its first 24, 21 or 17 tokens are found as well, as with
full attention alone.

## What happens
The same 25 tokens find 24. Any shorter prompt finds nothing, although full attention has cached all
of it. If windows are cached everywhere (`retention_interval=None`), the shorter prompts find 20,
20, 16, 12 and 8 tokens.

## Why
A hit needs all of a window's blocks before its end: for a window of 1,024 tokens and blocks of 16,
64 in a row. They are cached only before the prompt's last token: this is what a retention interval
of 0 means, the default. So a hit that would end one block earlier finds 63 of 64, which is nothing.
In return, the blocks that a window drops are used again first, and do not push other conversations
out of the cache, which had been the larger problem before.

## What to do
Set `--prefix-cache-retention-interval` to a number of tokens if prompts share beginnings of
different lengths: then a window is also kept before every so many tokens. It must be a multiple of
the block sizes.

## Threads
* [vllm#43447](https://github.com/vllm-project/vllm/pull/43447): introduced the interval: windows
  that were cached everywhere had flushed older requests out of the cache.
* [vllm#52216](https://github.com/vllm-project/vllm/pull/52216): made 0 the default.
* [vllm#57610](https://github.com/vllm-project/vllm/issues/57610): with the default, a prompt that
  differs from the cached one only in its last block finds nothing.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    found = {}
    for interval in (None, 0):  # 0 is the default
        engine = Engine("v1", gpu_blocks=60, groups="full,window:5", retention_interval=interval)
        engine.add("a", range(25))
        engine.step()
        look_up = engine.scheduler.kv_cache_manager.get_computed_blocks
        found[f"interval {interval}"] = [
            look_up(Request(f"b{length}", range(length), block_size=4))[1]
            for length in (25, 24, 21, 17, 13, 9)
        ]
    return Scene(engine.run, tokens_found=found)


ANSWER = {
    "tokens_found": {
        "interval None": [24, 20, 20, 16, 12, 8],
        "interval 0": [24, 0, 0, 0, 0, 0],
    }
}
