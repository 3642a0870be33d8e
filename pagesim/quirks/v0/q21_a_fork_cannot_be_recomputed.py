"""# q21 A forked request cannot be recomputed

V0 · preemption

A forked request that must be preempted stops the server, unless `preemption_mode` is "swap".

## Expected
As in earlier releases, requests of one sequence are computed again, and those of several are
swapped.

## What happens
`a` and its fork share two blocks, and each has a third one of its own. Now no block is free, and
the request has to be preempted. vLLM raises an AssertionError in the middle of the step. pagesim
raises an error that names the request and the remedy, and the request is still running.

## Why
Recomputing needs exactly one sequence, and an assertion says so. If no mode is set, vLLM asks the
request how many sequences it has at most, and since 0.6.4 every request answers 1. So it is
recomputed, however many there are.

## What to do
If you fork, set `preemption_mode="swap"`, and give the CPU enough blocks for all forks (q06).

## Threads
* [vllm#8844](https://github.com/vllm-project/vllm/issues/8844): met in 0.6.2, with the mode
  "recompute" and three or more samples.
* [vllm#12](https://github.com/vllm-project/vllm/pull/12): recomputation was made for requests of
  one sequence only, because shared blocks would make it very complex.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v0", gpu_blocks=4, watermark=0.0)
    engine.add("a", 8)
    engine.step()
    engine.fork("a")
    step = engine.step()
    free = engine.free
    error = error_of(engine.step)
    return Scene(engine.run, step=step, free_blocks=free, next_step=error, running=engine.running)


ANSWER = {"step": {"a": 1}, "free_blocks": 0, "next_step": "UsageError", "running": ["a"]}
