"""# o22 Past the head of the queue

V1 · second tier

A request whose load has ended overtakes a prompt at the head of the queue that does not fit.

## Expected
First come, first served: a head that does not fit stops everybody behind it.

## What happens
The small request loads. Meanwhile a large prompt arrives: it needs 7 of 8 blocks, and two are taken
by the load. When the load has ended, the small request runs and ends. Then the large one runs.

## Why
Requests that hold blocks wait in a queue of their own, which is looked at first. With a single
queue, the large prompt would wait for the blocks of the small request, and the small request would
wait behind the large prompt: forever.

## What to do
Nothing: this is the remedy for a deadlock. In older releases, abort the head of the queue.

## Threads
* [vllm#45406](https://github.com/vllm-project/vllm/pull/45406): loaded requests stranded behind a
  head that cannot be scheduled, and a first remedy.
* [vllm#57841](https://github.com/vllm-project/vllm/issues/57841): about the same deadlock.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1.offload.worker import OffloadingWorker


def scenario() -> Scene:
    worker = OffloadingWorker()
    engine = Engine("v1", gpu_blocks=9, cpu_blocks=40, worker=worker)
    engine.add("a", range(9), max_tokens=1)
    engine.steps(3)
    engine.scheduler.reset_prefix_cache()  # the GPU forgets all
    worker.ends_at = lambda job, now: now + 2  # from now on, a copy takes two steps more
    engine.add("b", range(9), max_tokens=1)
    engine.step()
    engine.add("large", 28, max_tokens=1)
    engine.step()
    queues = {"loading": engine.holding, "waiting": engine.waiting}
    return Scene(engine.run, queues=queues, steps=engine.steps(3))


ANSWER = {
    "queues": {"loading": ["b"], "waiting": ["large"]},
    "steps": [{}, {"b": 1}, {"large": 28}],
}
