"""# o20 Reading one's own chunk is no reuse

V1 · second tier

ARC counts a chunk as used again only when another request has used it, and only when that request
ends.

## Expected
A chunk that is read twice has been used again.

## What happens
The request that stored x reads it twice and ends: x is not in the list of chunks used again.
Another request reads x, and x is still not in the list. When that request ends, it is.

## Why
A request that reads back what it has stored itself was preempted, for example; this says nothing
about the next request. And a request may read a chunk several times in its life. So the manager
notes what each request needs, and tells the policy once, at the end.

## What to do
Nothing. In an experiment, let requests end before you look at what ARC keeps.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.v1 import CPUOffloadingManager, ReqContext


def scenario() -> Scene:
    tier, used_again = CPUOffloadingManager(num_chunks=4, cache_policy="arc"), {}
    for name, reads in (("writer", 2), ("reader", 1)):
        request = ReqContext(name)
        tier.on_new_request(request)
        if name == "writer":
            tier.prepare_store(["x"], request)
            tier.complete_store(["x"], request)
        for _ in range(reads):
            tier.prepare_load(["x"], request)
            tier.complete_load(["x"], request)
        used_again[f"before the {name} ends"] = tier.policy.state()["t2"]
        tier.on_request_finished(request)
        used_again[f"after the {name} has ended"] = tier.policy.state()["t2"]
    return Scene(used_again=used_again)


ANSWER = {
    "used_again": {
        "before the writer ends": [],
        "after the writer has ended": [],
        "before the reader ends": [],
        "after the reader has ended": ["x"],
    }
}
