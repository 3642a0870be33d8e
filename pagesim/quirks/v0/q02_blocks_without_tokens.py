"""# q02 Blocks that come without their tokens

V0 · blocks · mended

If tokens need more blocks than are free, they are not written, but their sequence keeps the free
blocks.

## Expected
The call fails and changes nothing: the sequence has its two blocks, and two blocks are free.

## What happens
Sequence `a` has eight tokens in two blocks. Twelve more tokens need three blocks, and two are free.
vLLM adds these two to the table of `a`, finds no third one, and raises NoFreeBlocksError. The table
then has four blocks for eight tokens, and no other request can have the two empty ones until `a`
leaves. pagesim takes them back.

## Why
Room is made before the first token is written, one block at a time. Each block is in the table as
soon as it is found.

## What to do
Nothing: the scheduler asks `can_append_slots` first. If you call `append_token_ids` yourself, do
the same.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=4)
    a = story.arrive(range(8), "a")
    error = error_of(lambda: a.write(range(8, 20), at_once=True))
    free = story.manager.get_num_free_gpu_blocks()
    return Scene(story.run, error=error, blocks_of_a=a.block_ids, free_blocks=free)


ANSWER = {"error": "NoFreeBlocksError", "blocks_of_a": [0, 1], "free_blocks": 2}
