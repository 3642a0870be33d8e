"""# o27 Stored when it is asked for again

V1 · second tier

With a `store_threshold` of 2, a prompt is stored when a second request has it on the GPU; lookups
do not count.

## Expected
A chunk that has been needed twice is worth storing. One request that runs for many steps needs it
in each of them.

## What happens
The first request leaves nothing on the CPU, however long it runs. The second one with the same
prompt stores two chunks. The third finds them there.

## Why
The manager counts how often a chunk is offered for storing, and a request offers each chunk once,
whether it has computed the chunk or found it on the GPU. A request that only waits offers nothing.

## What to do
Use it for traffic in which most prompts come once: they then cost no copies. Two requests must have
run before the tier can help.

## Threads
* [vllm#35342](https://github.com/vllm-project/vllm/pull/35342): introduced the threshold, which
  counted lookups then.
* [vllm#52022](https://github.com/vllm-project/vllm/pull/52022): why lookups were the wrong thing to
  count: they stop at the first miss.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine, stored = Engine("v1", gpu_blocks=9, cpu_blocks=40, store_threshold=2), []
    for name in ("first", "second", "third"):
        engine.add(name, range(9), max_tokens=1)
        engine.steps(3)
        stored.append(len(engine.scheduler.connector.manager.policy.chunks))
        engine.scheduler.reset_prefix_cache()  # the GPU forgets all
    return Scene(engine.run, chunks_stored=stored)


ANSWER = {"chunks_stored": [0, 2, 2]}
