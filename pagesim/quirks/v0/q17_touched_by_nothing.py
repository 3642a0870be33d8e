"""# q17 A block that no token touches

V0 · blocks

Appending no tokens counts as touching one block, unless the last block is full.

## Expected
Appending nothing touches no block.

## What happens
With eight tokens in blocks of four, appending nothing touches 0 blocks. With nine tokens it touches
1, and so `can_append_slots` asks for a free block that will not be taken.

## Why
The blocks are counted from the one in which the next token would be written, to the one in which
the last token is. With nine tokens both are the third block, which makes one.

## What to do
Nothing: the count is never too small. q31 shows what it costs when no block is free.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story()
    a = story.arrive(range(8), "a")
    table = story.manager.block_tables[0]
    touched = {"of 8 tokens": table.get_num_blocks_touched_by_append_slots([], 0)}
    a.write([8])
    touched["of 9 tokens"] = table.get_num_blocks_touched_by_append_slots([], 0)
    return Scene(story.run, touched_by_nothing=touched)


ANSWER = {"touched_by_nothing": {"of 8 tokens": 0, "of 9 tokens": 1}}
