"""# o13 Removed, and still found

V1 · events and metrics

A router hears that a block is gone, while another copy of it is still found.

## Expected
After `BlockRemoved`, a prompt with this block finds nothing.

## What happens
Two equal prompts were computed in the same step, so the block exists twice, and `BlockStored` was
sent twice. One copy is evicted, `BlockRemoved` is sent once, and the same prompt still finds 4
tokens.

## Why
V1 does not merge blocks of equal content, because a block table only grows. Each copy has its own
events.

## What to do
Count: a prefix is gone when it has been removed as often as it was stored. Routers that do not
count send requests away from the worker that has the prefix.

## Threads
* [vllm#55092](https://github.com/vllm-project/vllm/pull/55092): would send the event only with the
  last copy.
* [vllm#48933](https://github.com/vllm-project/vllm/pull/48933): would send how many copies are
  left.
* [dynamo#8012](https://github.com/ai-dynamo/dynamo/pull/8012): a router that began to count.
"""

from typing import Any

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=6, enable_kv_cache_events=True)
    heard: list[Any] = []
    engine.scheduler.publish = heard.extend
    for name in "ab":
        block = engine.add(name, range(4), max_tokens=1).block_hashes[0]
    engine.step()
    engine.add("c", 13, max_tokens=1)
    engine.step()
    told = [type(event).__name__ for event in heard if block in event.block_hashes]
    look_up = engine.scheduler.kv_cache_manager.get_computed_blocks
    found = look_up(Request("d", range(5), block_size=4))[1]
    return Scene(engine.run, events_of_the_block=told, tokens_found=found)


ANSWER = {
    "events_of_the_block": ["BlockStored", "BlockStored", "BlockRemoved"],
    "tokens_found": 4,
}
