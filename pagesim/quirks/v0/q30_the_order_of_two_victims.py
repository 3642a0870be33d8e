"""# q30 The order of two victims

V0 · preemption

Of two requests that are preempted in one step, swapping brings the younger one back first.

## Expected
The older request returns first, however it was preempted.

## What happens
In the second step every request needs a further block, and one is free, which `a` takes. `d`, the
youngest, is preempted for `b`. Then `c` finds no block and preempts itself. With recomputation the
two wait in the order c, d. Swapped out they wait in the order d, c: the younger one returns first.

## Why
A recomputed request is put at the front of the waiting queue, so the older one, which is preempted
later, ends up before the younger. A swapped request is put at the end of its queue.

## What to do
If the order of arrival matters to you, stay with recomputation, the default.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    order = {}
    for mode in ("recompute", "swap"):
        engine = Engine("v0", gpu_blocks=7, cpu_blocks=4, watermark=0.0, preemption_mode=mode)
        for name, tokens in {"a": 8, "b": 8, "c": 4, "d": 4}.items():
            engine.add(name, tokens)
        engine.steps(2)
        order[mode] = engine.waiting + engine.swapped
    return Scene(engine.run, order_of_return=order)


ANSWER = {"order_of_return": {"recompute": ["c", "d"], "swap": ["d", "c"]}}
