"""# q33 All ids are sorted to find one

V0 · swapping · mended

Swapping a block takes longer in a larger pool, because all ids of the pool are sorted each time.

## Expected
The index of a block in its device's cache is a difference: its id less the first id of the device.

## What happens
The worker copies blocks by their place on the device, counted from 0. CPU block 2,007 of a server
with 2,000 GPU blocks has place 7. vLLM's `get_physical_block_id` sorts all ids of the device, and
searches the sorted list. It does so for every block: to name 64 blocks of a pool of 32,000, it puts
2,048,000 ids in order. pagesim subtracts where the ids are consecutive.

## Why
The ids of an allocator are a set, and need not be consecutive. Sorting is right for any set.

## What to do
Expect a pause of the scheduler when large requests are swapped, or choose recomputation, the
default.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.v0.block.cpu_gpu_block_allocator import CpuGpuBlockAllocator
from pagesim.v0.block.interfaces import Device


def scenario() -> Scene:
    pools = CpuGpuBlockAllocator.create("naive", 2_000, 100, 16)
    place = pools.get_physical_block_id(Device.CPU, 2_007)
    ids = {f"in a pool of {pool:,}": 64 * pool for pool in (2_000, 8_000, 32_000)}
    return Scene(place_of_block_2007=place, ids_sorted_for_64_blocks=ids)


ANSWER = {
    "place_of_block_2007": 7,
    "ids_sorted_for_64_blocks": {
        "in a pool of 2,000": 128_000,
        "in a pool of 8,000": 512_000,
        "in a pool of 32,000": 2_048_000,
    },
}
