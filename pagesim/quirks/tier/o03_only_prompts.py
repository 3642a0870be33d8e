"""# o03 Outputs are not kept

V1 · second tier

By default only prompts are copied to the CPU, and generated tokens are not.

## Expected
The next turn of a chat begins with the prompt and its output. So both are copied.

## What happens
A request with a prompt of 5 tokens generates 13. One chunk of 4 tokens reaches the CPU: the full
block of its prompt. With `offload_prompt_only` set to false, four chunks do.

## Why
Reasoning models drop their thoughts from the history, so most generated tokens are never asked for
again. Copying them costs bandwidth, and they push prompts out of the tier.

## What to do
For chats whose outputs come back as they were, set `"offload_prompt_only": false` in the
connector's `kv_connector_extra_config`.

## Threads
* [vllm#43797](https://github.com/vllm-project/vllm/pull/43797): made this the default, with a
  measurement for a reasoning model.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    stored = {}
    for prompt_only in (True, False):  # True is the default
        options = {"cpu_blocks": 40, "offload_prompt_only": prompt_only}
        engine = Engine("v1", gpu_blocks=20, **options)
        engine.add("a", 5, max_tokens=13)
        engine.steps(18)
        chunks = engine.scheduler.connector.manager.policy.chunks
        stored["prompts only" if prompt_only else "all tokens"] = len(chunks)
    return Scene(engine.run, chunks_stored=stored)


ANSWER = {"chunks_stored": {"prompts only": 1, "all tokens": 4}}
