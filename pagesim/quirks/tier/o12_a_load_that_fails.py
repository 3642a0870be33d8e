"""# o12 A failed load, again and again

V1 · second tier

A failed load ends the request with an error; told to recompute instead, it loads the same chunks
again.

## Expected
If something cannot be loaded, it is computed.

## What happens
By default (`kv_load_failure_policy="fail"`), the request ends with "error". With "recompute", if
nothing of the load is good, the request is looked up again at once. It finds the same chunks and
loads them again, which fails again: there are four loads in four steps, and no end.

## Why
The default makes failures visible. The loop comes from a division of labor: the scheduler takes the
blocks back, but nobody tells the manager of the tier that its chunks are bad. A request without any
computed token looks like a new one, and is looked up like one. The workers of this connector never
report a failure; those of other connectors do.

## What to do
Keep "fail", and let the client try again. With "recompute", watch for a request that is always
loading.

## Threads
* [vllm#34896](https://github.com/vllm-project/vllm/pull/34896): changed the default from
  "recompute" to "fail".
* [vllm#32200](https://github.com/vllm-project/vllm/issues/32200): why: recomputing had hidden
  broken setups.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1.offload.worker import OffloadingWorker


def scenario() -> Scene:
    found = {}
    for policy in ("fail", "recompute"):
        worker = OffloadingWorker(fails=lambda job: True)  # each load ends and brings nothing
        engine = Engine("v1", 9, 40, worker=worker, kv_load_failure_policy=policy)
        engine.add("a", range(9), max_tokens=1)
        engine.steps(3)
        engine.add("other", 32, max_tokens=1)  # the GPU forgets a
        engine.steps(3)
        engine.add("b", range(9), max_tokens=1)
        engine.steps(4)
        loads = sum(event.kind == "load" for event in engine.run)
        found[policy] = {"loads": loads, "status": engine.status("b")}
    return Scene(engine.run, **found)


ANSWER = {
    "fail": {"loads": 1, "status": "FINISHED_ERROR"},
    "recompute": {"loads": 4, "status": "WAITING_FOR_REMOTE_KVS"},
}
