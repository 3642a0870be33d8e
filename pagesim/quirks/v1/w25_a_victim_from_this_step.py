"""# w25 A victim that this step has already scheduled

V1 · priority

With priorities, a request can lose its place in a step because a later one needs its blocks.

## Expected
A step goes through the running requests in order. Whoever has been scheduled is computed, and
victims are taken from the end.

## What happens
`low` runs first, and `high` begins beside it. In the third step `low` comes first and takes the
last free block. Then `high` needs a block. The victim is `low`: it is taken out of the step, and
only `high` is computed.

## Why
With `policy="priority"` the victim is the running request with the lowest priority (the largest
number), and among equal ones the one that arrived last, wherever it stands. The running requests
stand in the order in which they began, so a victim may stand before the one that needs its blocks.
The tokens of the victim go back into the budget of the step.

## What to do
Nothing: this is what a priority means. Requests of low priority lose their blocks often, so leave
prefix caching on (w11). Do not combine it with a threshold for long prompts (w33).

## Threads
* [vllm#49097](https://github.com/vllm-project/vllm/issues/49097): a victim that stood before the
  others; another request was then skipped for a step.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=6, policy="priority")
    engine.add("low", 7, priority=5, arrival_time=0.0)
    engine.step()
    engine.add("high", 8, priority=1, arrival_time=1.0)
    steps = engine.steps(3)
    return Scene(engine.run, steps=steps, running=engine.running, waiting=engine.waiting)


ANSWER = {
    "steps": [{"low": 1, "high": 8}, {"high": 1}, {"high": 1}],
    "running": ["high"],
    "waiting": ["low"],
}
