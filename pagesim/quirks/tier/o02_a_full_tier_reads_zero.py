"""# o02 A full tier with a usage of zero

V1 · events and metrics

`kv_offload_cpu_cache_usage_perc` does not say how full the CPU's cache is.

## Expected
The tier has room for four chunks of one block each. Three of them hold something, so the metric
says 0.75.

## What happens
While the three chunks are being copied, the metric says 0.75. When the copies have ended, it says
0, and the three chunks are still there.

## Why
The metric counts what transfers have pinned: chunks that are being stored or read, and that
therefore cannot be evicted. It is the CPU's counterpart of the GPU's usage, where cached blocks
that nobody uses count as free as well.

## What to do
Read it as pressure: near 1, stores are dropped for want of room. No metric of this release says how
full the tier is; count `BlockStored` and `BlockRemoved` events of medium CPU if you need it.

## Threads
* [vllm#45737](https://github.com/vllm-project/vllm/pull/45737): introduced the metric; its review
  changes the meaning from "occupied" to "pinned".
* [vllm#47666](https://github.com/vllm-project/vllm/pull/47666): added one metric for reads and one
  for writes.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1.offload.worker import OffloadingWorker


def scenario() -> Scene:
    slow = OffloadingWorker(lambda job, now: now + 2)  # a copy takes two steps more
    engine = Engine("v1", gpu_blocks=9, cpu_blocks=4, worker=slow)
    engine.add("a", 12, max_tokens=1)
    tier, found = engine.scheduler.connector.manager, []
    for _ in range(4):
        engine.step()
        found.append({"usage": tier.get_stats()["usage"], "chunks": len(tier.policy.chunks)})
    return Scene(engine.run, during_the_copy=found[0], after_it=found[-1])


ANSWER = {
    "during_the_copy": {"usage": 0.75, "chunks": 3},
    "after_it": {"usage": 0.0, "chunks": 3},
}
