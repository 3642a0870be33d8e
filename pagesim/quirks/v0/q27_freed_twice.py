"""# q27 A block that is freed twice

V0 · blocks

Freeing a block a second time raises an AssertionError without a message.

## Expected
An error says which block was freed twice.

## What happens
A block is taken and freed. Freeing it again fails an assertion in vLLM, which names neither the
block nor the mistake. pagesim says that the block was freed already. Afterwards the four blocks of
the pool are free, and not five.

## Why
A block that is freed loses its id, and a bare `assert` checks that a block that is to be freed has
one.

## What to do
Correct the code that calls the allocator. Python's option -O removes such assertions, so do not run
vLLM with it.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.timeline.record import record
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import Device


def scenario() -> Scene:
    pools = CpuGpuBlockAllocator.create("naive", 4, 0, 4)
    with record(pools) as run:
        block = pools.allocate_mutable_block(None, Device.GPU)
        pools.free(block)
        error = error_of(pools.free, block)
    return Scene(run, error=error, free_blocks=pools.get_num_free_blocks(Device.GPU))


ANSWER = {"error": "UsageError", "free_blocks": 4}
