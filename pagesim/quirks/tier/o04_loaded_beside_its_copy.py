"""# o04 Loaded, though the GPU has it

V1 · second tier

If both GPU and CPU have a whole prompt, its last block is loaded into a second place, and a step is
lost.

## Expected
The GPU has all 8 tokens of the prompt. The tier is not asked.

## What happens
Without a tier, the request computes 4 tokens in its first step. With one, it computes nothing in
the first step: it loads the block of the last 4 tokens from the CPU. In the second step it computes
one token. The pool now has two blocks with the same content.

## Why
The GPU's cache always leaves a token to compute, because the next token is sampled from what the
model computes for it. A hit consists of whole blocks, so it ends at token 4. The connector is asked
for what lies beyond. It may serve a prompt to its last token; then the one token that must be
computed is computed again.

## What to do
Nothing: this concerns only prompts that end exactly at the end of a chunk. If one step more matters
to you, a budget for synchronous loads (`sync_load_budget_bytes`) lets small loads happen within a
step.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    steps = []
    for chunks in (0, 40):
        engine = Engine("v1", gpu_blocks=9, cpu_blocks=chunks)
        engine.add("a", range(8), max_tokens=1)
        engine.steps(3)
        engine.add("b", range(8), max_tokens=1)
        steps.append(engine.steps(2))
    pool = engine.scheduler.kv_cache_manager.block_pool
    last = engine.requests["a"].block_hashes[1]
    copies = sum(block.block_hash == last for block in pool.blocks)
    return Scene(engine.run, without_a_tier=steps[0], with_a_tier=steps[1], copies=copies)


ANSWER = {"without_a_tier": [{"b": 4}, {}], "with_a_tier": [{}, {"b": 1}], "copies": 2}
