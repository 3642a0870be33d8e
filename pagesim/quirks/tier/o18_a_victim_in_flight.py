"""# o18 Preempted a step later

V1 · asynchronous

With asynchronous scheduling and a second tier, a request that lacks a block sits out one step
before anybody is preempted.

## Expected
When no block is free, the youngest request is preempted at once, with or without asynchronous
scheduling.

## What happens
With synchronous scheduling, `b` is preempted in step 3. With asynchronous scheduling, `b` is left
out of step 3 and preempted in step 4.

## Why
In step 3, the step before is still being computed, and it writes into the blocks of the victim. If
they were freed, a load could write into them at the same time. So the scheduler waits until that
step is over.

## What to do
Nothing: one request loses one step.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    preempted, steps = {}, list[list[str]]()
    for is_async in (False, True):
        engine = Engine("v1", gpu_blocks=6, cpu_blocks=40, async_scheduling=is_async)
        engine.add("a", 7, max_tokens=9)
        engine.add("b", 7, max_tokens=9)
        steps.clear()
        while not engine.preemptions("b"):
            steps.append([*engine.step()])
        preempted["asynchronous" if is_async else "synchronous"] = len(steps)
    return Scene(engine.run, preempted_in_step=preempted, asynchronous_steps=steps)


ANSWER = {
    "preempted_in_step": {"synchronous": 3, "asynchronous": 4},
    "asynchronous_steps": [["a", "b"], ["a", "b"], ["a"], ["a"]],
}
