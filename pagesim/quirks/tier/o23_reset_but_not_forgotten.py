"""# o23 A reset that forgets nothing

V1 · second tier

After `reset_prefix_cache`, the next request loads from the CPU what was to be forgotten.

## Expected
The cache is reset, for example because the model has new weights. The next prompt is computed from
its first token.

## What happens
The reset reports success. The next request loads 8 of its 9 tokens from the CPU, with the keys and
values of the old weights, and computes one. Only a reset with `reset_connector=True` makes it
compute all 9.

## Why
The call is about the GPU's cache. The second tier belongs to the connector, and is asked only if
you say so. Nothing in the hash of a chunk tells which weights its content came from.

## What to do
Pass `reset_connector=True`; the HTTP endpoint calls it `reset_external=true`. Or give requests a
new `cache_salt`.

## Threads
* [vllm#57727](https://github.com/vllm-project/vllm/issues/57727): the endpoint reports success, and
  the next request is served from the CPU.
* [vllm#42695](https://github.com/vllm-project/vllm/pull/42695): the same after an update of the
  weights in training.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine, succeeds, steps = Engine("v1", gpu_blocks=9, cpu_blocks=40), [], []
    engine.add("before", range(9), max_tokens=1)
    engine.steps(3)
    for name, both in (("after a reset", False), ("after both", True)):
        succeeds.append(engine.scheduler.reset_prefix_cache(reset_connector=both))
        engine.add(name, range(9), max_tokens=1)
        steps.append(engine.steps(2))
        engine.step()
    return Scene(engine.run, succeeds=succeeds, after_a_reset=steps[0], after_both=steps[1])


ANSWER = {
    "succeeds": [True, True],
    "after_a_reset": [{}, {"after a reset": 1}],
    "after_both": [{"after both": 9}, {}],
}
