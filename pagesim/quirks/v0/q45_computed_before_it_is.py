"""# q45 Blocks that count as computed and are not

V0 · chunked prefill

With chunked prefill and prefix caching, a prompt that stops halfway leaves blocks that count as
hits and hold nothing.

## Expected
A later request finds the blocks that were computed, and computes the others.

## What happens
`a` has 16 tokens, and its first step computes eight of them. Then the client of `a` leaves. `b` has
the same prompt. V0 says that the blocks 0, 1 and 2 are computed already, which is 12 tokens. But
nothing was ever written into block 2. The worker skips it, and `b` attends to whatever the block
held before. There is no error; the output is wrong.

## Why
All blocks of a prompt are allocated, and given their hashes, with its first chunk. They stay cached
when their owner leaves, and a block that is found in the cache counts as computed. Nothing records
how far the owner got. This is harmless only for prompts that are computed in one step.

## What to do
Do not combine `--enable-chunked-prefill` and `--enable-prefix-caching` in V0. A preemption in the
middle of a prompt has the same effect. V1 caches a block only in the step that computes its last
token.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    chunks = {"enable_chunked_prefill": True, "max_num_batched_tokens": 8}
    engine = Engine("v0", gpu_blocks=8, watermark=0.0, enable_prefix_caching=True, **chunks)
    engine.add("a", range(16))
    steps = [engine.step()]
    engine.abort("a")
    b = engine.add("b", range(16))
    steps.append(engine.step())
    computed = engine.scheduler.block_manager.get_common_computed_block_ids(b.seqs)
    return Scene(engine.run, steps=steps, blocks_of_b=engine.table("b"), computed_before_b=computed)


ANSWER = {
    "steps": [{"a": 8}, {"b": 8}],
    "blocks_of_b": [0, 1, 2, 3],
    "computed_before_b": [0, 1, 2],
}
