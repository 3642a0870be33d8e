"""# g18 Prefix caching that works only under load

V1 · states

A prompt that is computed in one chunk leaves one state, so prompts that share only a part of it
find nothing.

## Expected
24 tokens were computed. Prompts that begin with the same 20, 12 or 8 tokens find them.

## What happens
If the prompt is computed in one chunk, it is found at 24 tokens or not at all: a prompt that shares
20, 12 or 8 tokens finds nothing. In chunks of 4, all shared tokens are found.

## Why
Full attention has a block for every 4 tokens. A state exists only where a step ended, and a hit
needs the state at exactly its end. One chunk leaves one state. Under load, prompts are cut into
chunks because they share the budget of a step, and then there are states in between, by accident.
This scene keeps all of them (`retention_interval=None`). By default only the state before the end
of a prompt is kept, as for windows (g09), so even short chunks do not help.

## What to do
Make vLLM store a state where the shared part ends: send the shared beginning alone first. Or let
three requests with the same beginning come: the second one leaves a state there (g10). A
`--prefix-cache-retention-interval` keeps more states, but only where chunks end.

## Threads
* [vllm#42317](https://github.com/vllm-project/vllm/issues/42317): no hits with one request at a
  time, some with many; a developer explains it by the chunks.
* [vllm#43628](https://github.com/vllm-project/vllm/pull/43628): finds the same reason for chats
  that hit nothing, and proposes smaller chunks.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import Request


def scenario() -> Scene:
    found = {}
    for chunk, steps in ((64, 2), (4, 7)):
        limits = {"max_num_batched_tokens": chunk}
        engine = Engine("v1", 60, groups="full,mamba", retention_interval=None, **limits)
        engine.add("a", range(25), max_tokens=1)
        engine.steps(steps)
        look_up = engine.scheduler.kv_cache_manager.get_computed_blocks
        found[f"chunks of {min(chunk, 24)}"] = [
            look_up(Request(f"b{shared}", [*range(shared), 99], block_size=4))[1]
            for shared in (24, 20, 12, 8)
        ]
    return Scene(engine.run, tokens_found=found)


ANSWER = {"tokens_found": {"chunks of 24": [24, 0, 0, 0], "chunks of 4": [24, 20, 12, 8]}}
