"""# o08 A prompt that evicts its own middle

V1 · second tier

A prompt that is stored in pieces, in a tier too small for it, keeps its first chunk and its last
one.

## Expected
The tier has room for two chunks. A prompt of three chunks keeps two that can be used: the first and
the second.

## What happens
Chunked prefill computes 8 tokens and stores two chunks, then it computes the rest and offers the
third. The second chunk is evicted for it. When the prompt comes again, one chunk is loaded and 9
tokens are computed: the third chunk is there, but behind a gap.

## Why
The third chunk needs room, and the victim is the last part that the request has stored so far
(o07). This is the chunk just before it.

## What to do
Make the tier larger than all prompts that run at the same time. In a tier of thousands of chunks
you will not meet this.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=9, cpu_blocks=2, max_num_batched_tokens=8)
    first = engine.add("a", range(13), max_tokens=1)
    engine.steps(4)
    chunks = engine.scheduler.connector.manager.policy.chunks
    kept = [number for number, key in enumerate(first.block_hashes) if key in chunks]
    engine.scheduler.reset_prefix_cache()  # the GPU forgets all
    engine.add("b", range(13), max_tokens=1)
    return Scene(engine.run, chunks_kept=kept, steps=engine.steps(3))


ANSWER = {"chunks_kept": [0, 2], "steps": [{}, {"b": 8}, {"b": 1}]}
