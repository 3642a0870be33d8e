"""# w27 A stop token is seen one step late

V1 · asynchronous

With asynchronous scheduling, a request that ends with a stop token computes one more step in vain;
a request that reaches its length limit does not.

## Expected
Both requests end with their second token, so the third step is empty.

## What happens
Both requests generate a token in the first step and in the second. The second token of `stop` ends
it. But the third step has been decided by then, and it computes a token of `stop` that nobody
needs. `len` may generate 2 tokens, and is not part of the third step.

## Why
A step is decided while the one before it is still being computed. The scheduler then knows how many
tokens every request will have, so it foresees the length. It does not know which tokens they will
be.

## What to do
Nothing: one token for each request costs less than a GPU that waits for every decision.

## Threads
* [vllm#19970](https://github.com/vllm-project/vllm/pull/19970): asynchronous scheduling.
* [vllm#27922](https://github.com/vllm-project/vllm/pull/27922): before it, a request that reached
  its length computed one step too many as well.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", async_scheduling=True)
    stop = engine.add("stop", 3, stop_token_ids=[1_000_003])  # the third token that is sampled
    engine.add("len", 3, max_tokens=2)
    steps = engine.steps(5)
    return Scene(engine.run, steps=steps, output_of_stop=stop.output_token_ids)


ANSWER = {
    "steps": [{"stop": 3, "len": 3}, {"stop": 1, "len": 1}, {"stop": 1}, {}, {}],
    "output_of_stop": [1_000_001, 1_000_003],
}
