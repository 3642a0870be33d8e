"""# o07 The last part of a prompt is evicted first

V1 · second tier

Of the chunks of one request, the one that comes last in the prompt is evicted first, whatever was
stored first.

## Expected
The least recently used chunk goes first. The chunks were stored in the order z, x, y, so z goes
first, and then x.

## What happens
x, y and z are the first, second and third part of a prompt. When another request needs room, z goes
first, then y.

## Why
The chunks of one request count as used at the same time, and among them the later part goes first.
A beginning is useful without its end; an end without its beginning is not, because a hit has no
gaps.

## What to do
Nothing: this is as it should be. Only a prompt that pushes out its own chunks makes it go wrong
(o08).

## Threads
None found.
"""

from typing import Any

from pagesim.quirks.scene import Scene
from pagesim.v1 import CPUOffloadingManager, ReqContext


def scenario() -> Scene:
    tier: Any = CPUOffloadingManager(num_chunks=3)
    evicted: list[str] = []
    requests = {"a": "xyz", "b": "pq"}
    contexts = {name: ReqContext(name) for name in requests}
    for name, keys in requests.items():
        tier.on_new_request(contexts[name])
        for number, key in enumerate(keys, 1):
            contexts[name].set_offload_key_position(key, 4 * number)
    for name, key in (("a", "z"), ("a", "x"), ("a", "y"), ("b", "p"), ("b", "q")):
        evicted += tier.prepare_store([key], contexts[name]).evicted_keys
        tier.complete_store([key], contexts[name])
    return Scene(stored=["z", "x", "y"], evicted=evicted)


ANSWER = {"stored": ["z", "x", "y"], "evicted": ["z", "y"]}
