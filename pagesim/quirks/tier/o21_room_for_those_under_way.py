"""# o21 Ten free blocks, and a load must wait

V1 · second tier

A request that needs five blocks waits eight steps before its load begins, although up to ten blocks
are free.

## Expected
The prompt is on the CPU and its blocks fit, so the load begins in the first step.

## What happens
A long prompt is computed 4 tokens at a time, and takes one block in each step. The load begins in
step 9, when that prompt is done.

## Why
A request that loads holds blocks and cannot be preempted. If it took what a prompt under way still
needs, both could wait for each other forever, as vLLM once did. So a load is admitted only if its
blocks fit beside those that unfinished prompts will need: 8 for the long one here.

## What to do
Nothing: this guard is what keeps the server alive. Limits that stretch a prefill over many steps
(`long_prefill_token_threshold`) make loads wait longer.

## Threads
* [vllm#45388](https://github.com/vllm-project/vllm/issues/45388): two loads that waited for each
  other, step by step.
* [vllm#45387](https://github.com/vllm-project/vllm/issues/45387): the same in a server: nothing
  runs, forever.
* [vllm#44560](https://github.com/vllm-project/vllm/pull/44560): the guard.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=12, cpu_blocks=40, long_prefill_token_threshold=4)
    engine.add("a", range(17), max_tokens=1)
    engine.steps(3)
    engine.scheduler.reset_prefix_cache()  # the GPU forgets all
    engine.add("long", 32, max_tokens=1)
    engine.add("b", range(17), max_tokens=1)
    free, first = [], 0
    while not first:
        engine.step()
        free.append(engine.free)
        first = len(free) if engine.holding else 0
    return Scene(engine.run, free_blocks=free, the_load_begins_in_step=first)


ANSWER = {"free_blocks": [10, 9, 8, 7, 6, 5, 4, 11, 7], "the_load_begins_in_step": 9}
