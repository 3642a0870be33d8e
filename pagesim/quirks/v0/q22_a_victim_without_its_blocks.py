"""# q22 A victim of priority that loses its keys and values

V0 · priority

With priorities and swapping, a victim loses its keys and values, and stops the server later.

## Expected
The victim is swapped out like any other, and returns when there is room.

## What happens
`b` is more urgent than `a` and needs its room. `a` gets blocks on the CPU, and its status is
SWAPPED. But the pairs of blocks are thrown away: the worker is told to copy nothing. And `a` is put
among the waiting requests instead of the swapped ones. When the next step reaches it there, vLLM
raises an AssertionError. pagesim stops with an error that says what to do, and changes nothing in
that step.

## Why
Making room for an urgent request is a separate piece of code. It was written for recomputation,
where a victim keeps no blocks, and goes to the waiting queue.

## What to do
With the policy "priority", choose `preemption_mode="recompute"`.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Engine


def scenario() -> Scene:
    blocks = {"gpu_blocks": 6, "cpu_blocks": 8}
    engine = Engine("v0", watermark=0.0, policy="priority", preemption_mode="swap", **blocks)
    engine.add("a", 16, priority=5)
    engine.step()
    engine.add("b", 16, priority=1)
    _, orders, _ = engine.scheduler.schedule()
    found = {"status_of_a": engine.status("a"), "waiting": engine.waiting}
    error = error_of(engine.step)
    return Scene(engine.run, blocks_to_copy=orders.blocks_to_swap_out, **found, next_step=error)


ANSWER = {
    "blocks_to_copy": [],
    "status_of_a": "SWAPPED",
    "waiting": ["b", "a"],
    "next_step": "UsageError",
}
