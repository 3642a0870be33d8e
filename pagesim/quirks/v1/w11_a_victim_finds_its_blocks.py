"""# w11 A preempted request finds its own blocks again

V1 · preemption

A preempted request loses its blocks, but when it returns it often finds them in the cache.

## Expected
V1 knows only preemption by recomputation, so the whole request is computed a second time.

## What happens
`b` is preempted in the third step, when it has 10 tokens. After `a` has left, `b` returns. It finds
8 of its tokens and computes 2.

## Why
A block that is freed keeps its hash until somebody takes the block for other tokens. The two full
blocks of `b` went to the back of the free queue. `a` needed only one block, and got the third,
which was not full and so had gone to the front. V0 does the same, but only with prefix caching,
which was off by default.

## What to do
Leave prefix caching on: it makes a preemption cheap. vLLM counts these hits apart
(`preempted_hits`): leave them out of a hit rate, because they say nothing about your prompts. The
hit rate in the log is the share of tokens found, over the last 1,000 requests. Before September
2025 (vllm#25787) these hits were included.

## Threads
* [vllm#25780](https://github.com/vllm-project/vllm/issues/25780): a hit rate of 32 % for random
  prompts. The hits were preempted requests that came back.
* [inference-sim#1079](https://github.com/inference-sim/inference-sim/pull/1079): a simulator whose
  requests did not find their blocks again came to a standstill.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=6)
    engine.add("a", 7)
    b = engine.add("b", 8)
    steps = engine.steps(5)
    tokens = b.num_tokens
    engine.abort("a")
    return Scene(
        engine.run,
        steps=steps,
        preemptions_of_b=engine.preemptions("b"),
        tokens_of_b=tokens,
        step_after_a=engine.step(),
    )


ANSWER = {
    "steps": [{"a": 7, "b": 8}, {"a": 1, "b": 1}, {"a": 1}, {"a": 1}, {"a": 1}],
    "preemptions_of_b": 1,
    "tokens_of_b": 10,
    "step_after_a": {"b": 2},
}
