"""# q43 No room on the CPU

V0 · swapping · mended

If a request must be swapped out and the CPU has no room, all requests vanish from the scheduler.

## Expected
The request is computed again later, or it alone ends with an error.

## What happens
`a` and `b` fill the GPU, and `b` must be swapped out. The CPU has no blocks. `schedule()` raises a
RuntimeError about the lack of CPU swap space. At this moment vLLM has taken the running requests
out of their queue, so a caller that catches the error finds no request any more, and the blocks of
all of them stay taken. In pagesim the error is the same, and both requests run as before.

## Why
vLLM works on its queues while it decides, and there is no way back from the middle of a step. Nor
is there a fallback to recomputation: the mode is what was set.

## What to do
Do not set `preemption_mode="swap"`, or choose a `swap_space` with room for all requests that may be
swapped out at the same time.

## Threads
* [vllm#546](https://github.com/vllm-project/vllm/issues/546): with `--swap-space 0` the process
  ends in `_preempt_by_swap` as soon as a request is swapped out.
* [rllm#62](https://github.com/rllm-org/rllm/issues/62): a training run ends with this error even
  with 40 GB of swap space.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v0", gpu_blocks=4, watermark=0.0, preemption_mode="swap")
    engine.add("a", 8)
    engine.add("b", 8)
    engine.step()
    error = error_of(engine.step)
    blocks = {name: engine.table(name) for name in "ab"}
    return Scene(engine.run, error=error, running=engine.running, blocks=blocks)


ANSWER = {"error": "RuntimeError", "running": ["a", "b"], "blocks": {"a": [0, 1], "b": [2, 3]}}
