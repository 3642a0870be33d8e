"""# q28 The first writer moves

V0 · sharing

Of two sequences that share a block, the one that writes first gets the copy, even if it is older.

## Expected
The fork moves to a block of its own, and its parent stays where it was.

## What happens
`a` and its fork share two blocks, and the second one has room. `a` writes first: the block is
copied to block 2, and `a` goes on there. Then the fork writes. It is alone with block 1 now, so it
writes in place, and nothing is copied.

## Why
The allocator knows how many tables name a block, and not who came first. The owner that writes
gives up its share and takes a new block; the last one may keep the old block.

## What to do
Nothing: one copy is made either way. But never keep the id of a block across a step, not even for a
sequence that only writes.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story()
    a = story.arrive(range(6), "a")
    fork = a.fork("fork")
    copies = {"of a": a.write([6]), "of the fork": fork.write([7])}
    return Scene(story.run, copies=copies, blocks_of_a=a.block_ids, blocks_of_fork=fork.block_ids)


ANSWER = {
    "copies": {"of a": [(1, 2)], "of the fork": []},
    "blocks_of_a": [0, 2],
    "blocks_of_fork": [0, 1],
}
