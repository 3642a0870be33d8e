"""# g20 Eighteen tokens in two steps

V1 · states

A prompt that fits the budget easily is computed in two steps, and a budget of 7 tokens computes 4
at a time.

## Expected
With a budget of 64 tokens, 18 tokens take one step. With a budget of 7 tokens, they take three.

## What happens
The first step computes 16 tokens, the second the other 2. With a budget of 7, the steps compute 4,
4, 4, 4 and 2 tokens: nearly half of the budget is never used. All 18 are computed in one step only
if a state can be saved inside a chunk (`num_prefill_checkpoint_blocks`).

## Why
A state is kept for other requests only at the end of a block, so the scheduler ends chunks there:
at the last full block of the prompt, and at the last one that the budget reaches. Some kernels can
save a state on their way; vLLM then reserves a block for it, and needs no cut.

## What to do
Choose `--max-num-batched-tokens` as a multiple of the block size, which is hundreds of tokens
beside states (g27). What is left of the budget beyond that is wasted in steps with one prompt.

## Threads
None found.
"""

from dataclasses import replace

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1 import MambaSpec


def scenario() -> Scene:
    chunks = []
    plain = MambaSpec(4, mamba_cache_mode="align")
    saving = replace(plain, num_prefill_checkpoint_blocks=1, prefill_checkpoint_alignment=1)
    for state, budget in ((plain, 64), (plain, 7), (saving, 64)):
        engine = Engine("v1", 60, groups=["full", state], max_num_batched_tokens=budget)
        engine.add("a", 18, max_tokens=1)
        chunks.append([step["a"] for step in engine.steps(6) if step])
    return Scene(engine.run, chunks=chunks[0], budget_of_7=chunks[1], saved_inside=chunks[2])


ANSWER = {"chunks": [16, 2], "budget_of_7": [4, 4, 4, 4, 2], "saved_inside": [18]}
