"""# o06 One chunk too many, and nothing is stored

V1 · second tier

A prompt that is one chunk larger than the tier leaves nothing there at all.

## Expected
The tier has room for two chunks of 4 tokens. A prompt of three chunks leaves its first two there.

## What happens
A prompt of 8 tokens leaves two chunks. A prompt of 12 tokens leaves none. It is offered again with
every step of the request, always in vain.

## Why
All full blocks of a step are one store, and a store gets room for all of its chunks or is refused.

## What to do
Make the tier much larger than a prompt: it should hold many of them anyway. With chunked prefill,
each chunk of the prompt is a store of its own, which has a surprise of its own (o08).

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    stored = {}
    for length in (8, 12):
        engine = Engine("v1", gpu_blocks=9, cpu_blocks=2)
        engine.add("a", length, max_tokens=4)
        engine.steps(6)
        chunks = engine.scheduler.connector.manager.policy.chunks
        stored[f"a prompt of {length} tokens"] = len(chunks)
    return Scene(engine.run, chunks_stored=stored)


ANSWER = {"chunks_stored": {"a prompt of 8 tokens": 2, "a prompt of 12 tokens": 0}}
