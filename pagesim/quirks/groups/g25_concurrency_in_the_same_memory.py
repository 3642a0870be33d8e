"""# g25 From 6.80x to 1.67x in the same memory

V1 · sizing

For a model with windows, the concurrency that vLLM logs falls when a step may compute more tokens.

## Expected
`Maximum concurrency` depends on the memory, the model and `max_model_len`.

## What happens
For Gemma 3 12B in 20 GiB, and requests of 32,768 tokens, vLLM logs 6.80x with 2,048 tokens a step.
With asynchronous scheduling it logs 5.61x; with 8,192 tokens a step, it logs 2.73x, and with 16,384
tokens, 1.67x. The number of blocks is always 20,480.

## Why
A window gives its old blocks back only when a step is over. So a request may hold blocks for its
window and for all tokens that are in flight, and the planner counts this for each of the five
groups of windows. Asynchronous scheduling has two steps in flight, so it counts twice.

## What to do
Read the figure as the worst case: short chunks need less. If it decides whether your
`max_model_len` is accepted, lower `--max-num-batched-tokens`.

## Threads
* [vllm#54703](https://github.com/vllm-project/vllm/issues/54703): models whose layers have tiny
  windows: what is reserved for tokens in flight dominates the price of a request.
"""

from pagesim.quirks.scene import Scene
from pagesim.sizing import ModelSpec, size_v1


def scenario() -> Scene:
    model, logged = ModelSpec.preset("gemma-3-12b"), {}
    for tokens, is_async in ((2_048, False), (2_048, True), (8_192, True), (16_384, True)):
        size = size_v1(
            model,
            "20GiB",
            max_model_len=32_768,
            max_num_batched_tokens=tokens,
            async_scheduling=is_async,
        )
        kind = "asynchronous" if is_async else "synchronous"
        logged[f"{tokens:,} tokens a step, {kind}"] = round(size.max_concurrency(32_768), 2)
    return Scene(concurrency=logged, blocks=size.num_gpu_blocks[0])


ANSWER = {
    "concurrency": {
        "2,048 tokens a step, synchronous": 6.8,
        "2,048 tokens a step, asynchronous": 5.61,
        "8,192 tokens a step, asynchronous": 2.73,
        "16,384 tokens a step, asynchronous": 1.67,
    },
    "blocks": 20480,
}
