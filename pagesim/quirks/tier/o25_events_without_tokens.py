"""# o25 Events without tokens

V1 · events and metrics

By default, an event of the CPU's cache has no tokens and a block size of 0; an option adds both,
but not the salt.

## Expected
An event of medium CPU looks like one of the GPU: hashes, tokens, block size, and the salt of the
request.

## What happens
The GPU's event has 4 tokens, a block size of 4, and the salt. The CPU's has no tokens and a block
size of 0. With `self_describing_kv_events` it has 4 tokens and the size, but no salt.

## Why
The tier knows its chunks by hash, not by content. The option makes the connector remember the
tokens of each chunk; what a hash depends on besides tokens is not among what it remembers.

## What to do
Learn what a hash stands for from the GPU's events, which come first, and use the CPU's events for
the place only. A consumer that drops events with a block size of 0 must turn the option on.

## Threads
* [vllm#43468](https://github.com/vllm-project/vllm/pull/43468): added the option, for a router that
  dropped these events.
* [vllm#57159](https://github.com/vllm-project/vllm/issues/57159): with it, and several blocks per
  chunk, events name blocks that cannot be found one by one.
"""

from pagesim.files.jsonl import JsonObject
from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1.kv_events import BlockStored


def scenario() -> Scene:
    found: JsonObject = {}
    for name, describes in (("by default", False), ("self-describing", True)):
        options = {"enable_kv_cache_events": True, "self_describing_kv_events": describes}
        engine = Engine("v1", gpu_blocks=9, cpu_blocks=40, **options)
        heard: list[BlockStored] = []
        engine.scheduler.publish = heard.extend
        engine.add("a", 5, max_tokens=1, cache_salt="s")
        engine.steps(3)
        tells = {it.medium: (it.token_ids, it.block_size, it.extra_keys) for it in heard}
        for medium, (tokens, size, salt) in tells.items():
            told = {"tokens": len(tokens), "size": size, "salt": salt is not None}
            found[f"{name}, {medium}"] = told
    return Scene(engine.run, **found)


ANSWER = {
    "by default, GPU": {"tokens": 4, "size": 4, "salt": True},
    "by default, CPU": {"tokens": 0, "size": 0, "salt": False},
    "self-describing, GPU": {"tokens": 4, "size": 4, "salt": True},
    "self-describing, CPU": {"tokens": 4, "size": 4, "salt": False},
}
