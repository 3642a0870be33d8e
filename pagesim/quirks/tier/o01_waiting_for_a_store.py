"""# o01 A copy in progress stops a request

V1 · second tier

A request whose prompt is just being copied to the CPU waits for the copy, although it could compute
the rest at once.

## Expected
The same prompt of 8 tokens comes again right away. The GPU still has it, so the request computes
the last 4 tokens in the next step, as without a second tier.

## What happens
The copy to the CPU takes some steps. The request waits until it has ended, then it loads the last 4
tokens back, and waits again. It computes its first token in the ninth step. Without the tier it is
the first step.

## Why
The GPU may serve 4 of the 8 tokens, because one token must be left to compute; the rest is looked
up on the CPU. There, the chunk is known but not complete (`HIT_PENDING`). The connector answers
"ask again later", and the scheduler asks in each step. Computing 4 tokens instead is not
considered.

## What to do
Nothing to do in the settings. It takes a prompt that comes again within the time of a copy, and
then it costs about two copies.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1.offload.worker import OffloadingWorker


def scenario() -> Scene:
    steps = []
    for chunks in (0, 40):
        slow = OffloadingWorker(lambda job, now: now + 3)  # a copy takes three steps more
        engine = Engine("v1", gpu_blocks=9, cpu_blocks=chunks, worker=slow)
        engine.add("a", range(8), max_tokens=1)
        engine.step()
        engine.add("b", range(8), max_tokens=1)
        steps.append(engine.steps(9))
    first = [next(i for i, step in enumerate(its, 1) if step) for its in steps]
    computed = [its[i - 1]["b"] for its, i in zip(steps, first, strict=True)]
    return Scene(engine.run, first_step_of_b=first, tokens_computed=computed)


ANSWER = {"first_step_of_b": [1, 9], "tokens_computed": [4, 1]}
