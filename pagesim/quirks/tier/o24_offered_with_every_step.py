"""# o24 Offered with every step

V1 · second tier

A prompt that finds no room on the CPU is offered again with every token that its request generates.

## Expected
A store that is refused is given up, or tried again when there is room.

## What happens
The tier has two chunks, and both are being stored for another request. The two chunks of the second
prompt are offered in four steps in vain. When the first copy has ended, the fifth offer succeeds,
and the first prompt is evicted.

## Why
A chunk that is being stored cannot be evicted, and a store is all or nothing (o06). The connector
remembers how far a request has been stored, and moves on only when a store succeeds. So it asks in
each step, until there is room or the request is over.

## What to do
Nothing: asking is cheap. But prompts of short requests may never get their turn while copies are
slow; a larger tier helps.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v1.offload.worker import OffloadingWorker


def scenario() -> Scene:
    slow = OffloadingWorker(lambda job, now: now + 3)  # a copy takes three steps more
    engine = Engine("v1", gpu_blocks=14, cpu_blocks=2, worker=slow)
    tier, offered, stored = engine.scheduler.connector.manager, [], []
    engine.add("a", 8, max_tokens=9)
    engine.step()
    second = engine.add("b", 8, max_tokens=9)
    for _ in range(6):
        tier.get_stats()  # it counts from here
        engine.step()
        offered.append(sum(tier.get_stats()["allocations"]))
        stored.append(second.block_hashes[0] in tier.policy.chunks)
    return Scene(engine.run, chunks_offered=offered, has_found_room=stored)


ANSWER = {
    "chunks_offered": [2, 2, 2, 2, 2, 0],
    "has_found_room": [False, False, False, False, True, True],
}
