"""# q44 Moves in the wrong order

V0 · swapping

In a step that copies a block and swaps another in, vLLM's worker can copy the wrong content.

## Expected
The worker moves blocks in an order in which each move reads what the scheduler meant.

## What happens
`a` and its fork share block 0. Both write the same fourth token. For `a` the block is copied to
block 1. The fork then finds the same content cached in block 1, takes this block as well, and so
block 0 is free. In the same step a third request, the guest, is swapped in, to block 0. The
scheduler decided on the copy first. But vLLM's worker swaps in first, and then copies block 0,
which is the guest's by now, to block 1. `a` and its fork read the guest's keys and values.

## Why
The worker has a fixed order: swap in, swap out, copy. The scheduler makes its decisions in the
order swap out, copy, swap in, and pagesim's `CacheEngine` keeps to it.

## What to do
Do not combine forks, prefix caching and swapping. It takes all three: the worker's order is
harmless as long as a block is not freed and taken again within one step.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=4, cpu_blocks=4, caching=True)
    a, guest = story.arrive([1, 2, 3], "a"), story.arrive([9], "guest")
    guest.swap_out()
    fork = a.fork("fork")
    copies = a.write([4]) + fork.write([4])
    loads = guest.swap_in()
    content = {}
    for order in ("swap in, copy", "copy, swap in"):
        gpu, cpu = ["of a", ""], ["of the guest"]
        for move in order.split(", "):
            for source, target in loads if move == "swap in" else copies:
                gpu[target] = cpu[source] if move == "swap in" else gpu[source]
        content[order] = gpu
    return Scene(story.run, copies=copies, swapped_in=loads, content_of_blocks_0_and_1=content)


ANSWER = {
    "copies": [(0, 1)],
    "swapped_in": [(0, 0)],
    "content_of_blocks_0_and_1": {
        "swap in, copy": ["of the guest", "of the guest"],
        "copy, swap in": ["of the guest", "of a"],
    },
}
