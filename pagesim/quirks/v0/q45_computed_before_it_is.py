"""# q45 Blocks that count as computed and are not

V0 · chunked prefill

With chunked prefill and prefix caching, a prompt that stops half way leaves hits with no content.

## Expected
A later request finds the blocks that were computed, and computes the others.

## What happens
`a` has 16 tokens, and its first step computes eight of them. Then its client leaves. `b` has the
same prompt. Its metadata say that the blocks 0, 1 and 2 are computed already, which is 12 tokens.
But nothing was ever written into block 2. The worker skips it, and `b` attends to whatever the
block held before. There is no error; the output is wrong.

## Why
All blocks of a prompt are allocated, and named by their content, with its first chunk. At the end
of the step V0 marks all new blocks as computed, without looking at how far the chunk went. That is
right for whole prompts.

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
    step = engine.step()
    engine.abort("a")
    b = engine.add("b", range(16))
    (metadata,), _, _ = engine.scheduler.schedule()
    found = {"blocks_of_b": engine.table("b"), "computed_for_b": metadata.computed_block_nums}
    return Scene(engine.run, step=step, **found, tokens_of_b=b.first_seq.get_len())


ANSWER = {
    "step": {"a": 8},
    "blocks_of_b": [0, 1, 2, 3],
    "computed_for_b": [0, 1, 2],
    "tokens_of_b": 16,
}
