"""# w19 A window keeps only the end of a prompt

V1 · sliding window

By default, only the blocks in the window before the last token of a prompt are cached, so a prompt
that is shorter or branches off earlier finds nothing.

## Expected
Every full block of a prompt is cached.

## What happens
The window is 5 tokens, and a prompt of 17 tokens has been computed. Its first 5, 9, 13 or 16
tokens, sent as prompts of their own, find nothing. The same prompt, or a longer one that begins
with it, finds 16 tokens.

## Why
The setting is `retention_interval`, 0 by default. The same prompt will need the four tokens before
its last one, and those are in one block: only this one is cached. The others would rarely be found,
and they would push more useful blocks out.

## What to do
If your prompts share a long beginning and then branch off, set `--prefix-cache-retention-interval`
to a number of tokens: then the blocks before every so many tokens are cached as well.

## Threads
* [vllm#52216](https://github.com/vllm-project/vllm/pull/52216): 0 became the default.
* [vllm#57610](https://github.com/vllm-project/vllm/issues/57610): a user extends the last message
  by a few words, and the whole cache misses.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=20, sliding_window=5)
    engine.add("a", range(17), max_tokens=1)
    engine.step()
    look_up = engine.scheduler.kv_cache_manager.get_computed_blocks
    prompts = {
        length: Request("b", range(length), block_size=4) for length in (5, 9, 13, 16, 17, 21)
    }
    found = {f"first {length} tokens": look_up(its)[1] for length, its in prompts.items()}
    return Scene(engine.run, found=found)


ANSWER = {
    "found": {
        "first 5 tokens": 0,
        "first 9 tokens": 0,
        "first 13 tokens": 0,
        "first 16 tokens": 0,
        "first 17 tokens": 16,
        "first 21 tokens": 16,
    }
}
