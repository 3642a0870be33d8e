"""# o14 Stored, but nothing can be found

V1 · events and metrics

A model with a sliding window sends `BlockStored` events that have tokens and no hash.

## Expected
`BlockStored` says that blocks can be found from now on, and by which hashes.

## What happens
The first event has no hash and 8 tokens. The second has one hash and 4 tokens.

## Why
By default, only the blocks of the window before the prompt's end are cached (g09). The others are
skipped, but the event is sent for the whole run of blocks that were looked at, with all their
tokens.

## What to do
In a program that reads the events, take the hashes as what counts, and never divide the tokens by
the block size to get them. An event with an empty list of hashes changes nothing.

## Threads
* [vllm#44451](https://github.com/vllm-project/vllm/issues/44451): the same with states: tokens of
  skipped blocks, so a consumer cannot tell which tokens a hash stands for.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1.kv_events import BlockStored


def scenario() -> Scene:
    options = {"sliding_window": 5, "enable_kv_cache_events": True}
    engine = Engine("v1", gpu_blocks=12, max_num_batched_tokens=8, **options)
    heard: list[BlockStored] = []
    engine.scheduler.publish = heard.extend
    engine.add("a", 13)
    engine.steps(2)
    told = [{"hashes": len(it.block_hashes), "tokens": len(it.token_ids)} for it in heard]
    return Scene(engine.run, events=told)


ANSWER = {"events": [{"hashes": 0, "tokens": 8}, {"hashes": 1, "tokens": 4}]}
