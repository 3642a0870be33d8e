"""# w14 Prefill and decode share a step

V1 · chunked prefill

Running requests take the budget of a step first, and prompts get what is left of it.

## Expected
A step computes either whole prompts or one token for each running request.

## What happens
The budget is 8 tokens. The prompt of `a` takes 3, so 5 tokens of `b`'s prompt fit beside it. In
each of the next two steps `a` generates a token, and `b` computes 7. The fourth step computes the
last token of `b`'s prompt, beside another one of `a`.

## Why
V1 knows no phases. Every request has tokens that are not yet computed, one or thousands, and a step
gives it as many as the budget allows. V0 works like this only with chunked prefill, which was off
by default; otherwise prompts have steps of their own, and requests that generate wait meanwhile.

## What to do
`max_num_batched_tokens` is the budget. A small one keeps the time between two tokens short; a large
one computes prompts sooner.

## Threads
* [vllm#52906](https://github.com/vllm-project/vllm/issues/52906): measurements by which no single
  budget is best, and a proposal to adapt it to the load.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=20, max_num_batched_tokens=8)
    engine.add("a", 3)
    engine.add("b", 20)
    return Scene(engine.run, steps=engine.steps(4))


ANSWER = {"steps": [{"a": 3, "b": 5}, {"a": 1, "b": 7}, {"a": 1, "b": 7}, {"a": 1, "b": 1}]}
