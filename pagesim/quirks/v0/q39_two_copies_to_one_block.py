"""# q39 Two copies to one block

V0 · sharing

One write can ask for two copies to the same block, and only their order makes that right.

## Expected
Every copy of a step has a destination of its own, so they can be made in any order.

## What happens
`a` shares two blocks with its fork: block 2, which holds two tokens, and block 3, which is reserved
for lookahead slots. `a` writes three tokens. For the first two, block 2 is copied to block 4. Now
this block is full, and its content is cached already, in block 1. So `a` takes block 1, and gives
block 4 back. For the third token, block 3 must be copied. Block 4 is free again, so block 3 is
copied there. The list of copies says 2 to 4, then 3 to 4.

## Why
The list of copies is written as the blocks are taken. Only later does it turn out that the first
copy is not needed, and nobody takes it off the list.

## What to do
Copy in the order of the list, one after the other. A kernel that copies all pairs at once must keep
only the last pair of each destination.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=8, caching=True)
    story.arrive(range(8), "cached")
    a = story.arrive(range(6), "a")
    a.write(lookahead=4)
    fork = a.fork("fork")
    copies = a.write([6, 7, 8], at_once=True)
    return Scene(story.run, copies=copies, blocks_of_a=a.block_ids, blocks_of_fork=fork.block_ids)


ANSWER = {
    "copies": [(2, 4), (3, 4)],
    "blocks_of_a": [0, 1, 4],
    "blocks_of_fork": [0, 2, 3],
}
