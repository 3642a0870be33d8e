"""# o09 Free blocks that are still being read

V1 · second tier

The blocks of a finished request are free before their copy has begun, and the next request that
takes them makes everybody wait.

## Expected
Blocks stay with their request until they have been copied to the CPU.

## What happens
The request has ended after one step, and all four blocks are free. The next prompt takes all of
them. Its step must first wait for the copy of the old content: the scheduler tells the workers to
finish this copy first, which vLLM calls a flush.

## Why
Holding the blocks would cost memory, and usually others are taken first: freed cached blocks go to
the back of the queue. A store begins one step after it is planned, so that it does not slow the
step that computes the blocks. If a block is taken sooner, the flush makes it safe.

## What to do
Nothing, as long as the GPU has some free blocks. If it is always full, these waits show as longer
steps: a slow link to the host then slows down everything.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=5, cpu_blocks=40)
    engine.add("a", 12, max_tokens=1)
    engine.step()
    free = engine.free
    engine.add("b", 16, max_tokens=1)
    output = engine.scheduler.schedule()
    jobs = output.kv_connector_metadata
    waits_for = [number for number in jobs.jobs_to_flush if number not in jobs.store_jobs]
    step = dict(output.num_scheduled_tokens)
    return Scene(engine.run, free_blocks=free, step=step, waits_for_copies=waits_for)


ANSWER = {"free_blocks": 4, "step": {"b": 16}, "waits_for_copies": [0]}
