"""# o11 An aborted request keeps its blocks

V1 · second tier

A client goes away while its prompt is being loaded, and nothing becomes free.

## Expected
Aborting a request frees its blocks at once.

## What happens
The request is `FINISHED_ABORTED`, but only 6 of 8 blocks are free. When the load has ended, all 8
are.

## Why
The workers may still write into the two blocks. If somebody else took them now, the load would
overwrite new keys. So the request is finished for the client, and its blocks wait.

## What to do
Nothing: this lasts only as long as a copy. Watch the usage of the GPU's cache, not the number of
requests, if clients often give up early.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1.offload.worker import OffloadingWorker


def scenario() -> Scene:
    worker = OffloadingWorker()
    engine = Engine("v1", gpu_blocks=9, cpu_blocks=40, worker=worker)
    engine.add("a", range(9), max_tokens=1)
    engine.steps(3)
    engine.add("other", 32, max_tokens=1)  # the GPU forgets a
    engine.steps(3)
    worker.ends_at = lambda job, now: now + 2  # from now on, a copy takes two steps more
    engine.add("b", range(9), max_tokens=1)
    engine.step()
    engine.abort("b")
    before, status = engine.free, engine.status("b")
    engine.steps(2)
    return Scene(engine.run, status=status, free_after_the_abort=before, free_later=engine.free)


ANSWER = {"status": "FINISHED_ABORTED", "free_after_the_abort": 6, "free_later": 8}
