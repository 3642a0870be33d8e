"""# q13 A new timestamp in the old place

V0 · eviction

A cached block that is used again can be evicted first all the same: its place in the list does not
change.

## Expected
Block 0 was used last, so block 1 is evicted.

## What happens
`a` and `b` have one block each, used at the times 1 and 2, and leave. Both blocks stay cached. Then
block 0 is marked as accessed at time 3. `c` needs a block, and gets block 0.

## Why
`LRUEvictor.update` writes the new time into the entry, and leaves the entry where it is, at the
front. The search begins there. Of the entries that follow, the search takes only one with a longer
prefix, and it stops at the first with a later time. Block 1 has an earlier time but a prefix of the
same length, so it is not taken.

## What to do
Nothing: the engine marks blocks when their sequence leaves, just before they enter the list. If you
call `mark_blocks_as_accessed` yourself, remove the block and add it again.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=2, caching=True)
    writers = [story.arrive(range(4), "a"), story.arrive(range(10, 14), "b")]
    for time, writer in enumerate(writers, 1):
        story.manager.access_all_blocks_in_seq(writer.seq, float(time))
        writer.leave()
    story.manager.block_allocator.mark_blocks_as_accessed([0], 3.0)
    c = story.arrive(range(20, 24), "c")
    return Scene(story.run, block_of_c=c.block_ids)


ANSWER = {"block_of_c": [0]}
