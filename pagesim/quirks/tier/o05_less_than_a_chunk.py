"""# o05 Bytes on the CPU that are computed again

V1 · second tier

If chunks are larger than blocks, a hit on the CPU that goes less than a chunk beyond the GPU's hit
is not loaded.

## Expected
Of the 9 tokens of `b`, the GPU has the first 4, and the CPU has the first 8. So `b` loads 4 tokens
and computes one.

## What happens
`b` computes 5 tokens and loads nothing.

## Why
A chunk has two blocks here, 8 tokens. What the CPU could add is 4 tokens, less than a chunk, and
such a hit is dropped.

## What to do
Choose smaller chunks (`blocks_per_chunk`, or `block_size` of the connector) if prompts differ
early. Larger ones are copied faster.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=9, cpu_blocks=40, blocks_per_chunk=2)
    first = engine.add("a", range(8), max_tokens=1)
    engine.steps(3)
    engine.add("other", 28, max_tokens=1)  # leaves one block of a on the GPU
    engine.steps(3)
    on_the_cpu = first.block_hashes[1] in engine.scheduler.connector.manager.policy.chunks
    engine.add("b", range(9), max_tokens=1)
    return Scene(engine.run, on_the_cpu=on_the_cpu, step=engine.step())


ANSWER = {"on_the_cpu": True, "step": {"b": 5}}
