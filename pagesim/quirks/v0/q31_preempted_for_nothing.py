"""# q31 Preempted for a token that would fit

V0 · preemption · beside w29

When no block is free, V0 preempts a request even if the next tokens fit into the blocks that are
there.

## Expected
Both requests have six tokens in two blocks of their own. Each can write two more tokens, so both go
on for two steps.

## What happens
After the first step no block is free. For the next token of `a`, which fits into its second block,
`b` is preempted, and `a` computes alone. In the third step `b` returns, and its seven tokens are
computed from the start. In the fourth it is preempted again.

A chunked prompt that takes all blocks does this to itself. `c` computes its first eight tokens,
preempts itself for the rest, and begins again, forever.

## Why
`can_append_slots` counts every block that a write touches, as if it were new or had to be copied.
A partly filled block counts as one. So it asks for a free block that nobody takes.

## What to do
Keep a few blocks free: choose a `max_num_seqs` at which the pool does not fill up. With chunked
prefill, choose a `max_model_len` at least one block below what the pool holds.

## Threads
* [vllm#8008](https://github.com/vllm-project/vllm/pull/8008): with one large block per sequence,
  a cache of as many blocks as sequences recomputes all the time; the change adds one block.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v0", gpu_blocks=4, watermark=0.0)
    engine.add("a", 6)
    engine.add("b", 6)
    steps, preempted = engine.steps(4), engine.preemptions("b")
    chunks = {"enable_chunked_prefill": True, "max_num_batched_tokens": 8}
    chunked = Engine("v0", gpu_blocks=4, watermark=0.0, **chunks)
    chunked.add("c", 15)
    return Scene(engine.run, steps=steps, preempted=preempted, steps_of_c=chunked.steps(6))


ANSWER = {
    "steps": [{"a": 6, "b": 6}, {"a": 1}, {"b": 7}, {"a": 1}],
    "preempted": 2,
    "steps_of_c": [{"c": 8}, {}, {"c": 8}, {}, {"c": 8}, {}],
}
