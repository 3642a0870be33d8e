"""# o01 A copy in progress stops a request

V1 · second tier

A request whose prompt is just being copied to the CPU waits for the copy, although it could compute
the rest at once.

## Expected
The same prompt of 8 tokens comes again right away. The GPU still has it, so the request computes
the last 4 tokens in the next step, as without a second tier.

## What happens
The copy to the CPU takes some steps. The request waits until the copy has ended, then it loads the
last 4 tokens back, and waits again. It computes one token in the ninth step. Without the tier, it
computes 4 in the first.

## Why
The GPU may serve 4 of the 8 tokens, because one token must be left to compute; the rest is looked
up on the CPU. There, the chunk (what the tier copies as one piece, one block here) is known but not
complete (`HIT_PENDING`). The connector answers "ask again later", and the scheduler asks in each
step. Computing 4 tokens instead is not considered.

## What to do
No setting helps. This happens only to a prompt that comes again while it is being copied, and then
it costs about the time of two copies.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1.offload.worker import OffloadingWorker


def scenario() -> Scene:
    found = {}
    for name, chunks in (("without a tier", 0), ("with a tier", 40)):
        slow = OffloadingWorker(lambda job, now: now + 3)  # a copy takes three steps more
        engine = Engine("v1", gpu_blocks=9, cpu_blocks=chunks, worker=slow)
        engine.add("a", range(8), max_tokens=1)
        engine.step()
        engine.add("b", range(8), max_tokens=1)
        steps = engine.steps(9)
        first = next(number for number, step in enumerate(steps, 1) if step)
        found[name] = {"first step": first, "tokens": steps[first - 1]["b"]}
    return Scene(engine.run, **found)


ANSWER = {
    "without a tier": {"first step": 1, "tokens": 4},
    "with a tier": {"first step": 9, "tokens": 1},
}
