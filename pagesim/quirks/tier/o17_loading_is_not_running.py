"""# o17 Three requests with one seat

V1 · second tier

Requests that load do not count towards `max_num_seqs`.

## Expected
With a `max_num_seqs` of 1, one request at a time holds blocks.

## What happens
Three requests load at the same time, with two blocks each. None of them runs.

## Why
The limit counts the requests that are computed in a step. A request that loads only waits, and
several loads use the link better than one. It holds blocks all the same, and cannot be preempted.

## What to do
Size the GPU's cache for more than `max_num_seqs` requests if many prompts come from the CPU.

## Threads
* [vllm#42568](https://github.com/vllm-project/vllm/pull/42568): about how loads should count
  towards the limit.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1.offload.worker import OffloadingWorker


def scenario() -> Scene:
    worker = OffloadingWorker()
    engine = Engine("v1", gpu_blocks=20, cpu_blocks=40, max_num_seqs=1, worker=worker)
    for start in (0, 100, 200):
        engine.add(f"before {start}", range(start, start + 9), max_tokens=1)
        engine.steps(3)
    engine.scheduler.reset_prefix_cache()  # the GPU forgets all
    worker.ends_at = lambda job, now: now + 3  # from now on, a copy takes three steps more
    for start in (0, 100, 200):
        engine.add(f"again {start}", range(start, start + 9), max_tokens=1)
    engine.step()
    return Scene(engine.run, loading=engine.holding, running=engine.running)


ANSWER = {"loading": ["again 0", "again 100", "again 200"], "running": []}
