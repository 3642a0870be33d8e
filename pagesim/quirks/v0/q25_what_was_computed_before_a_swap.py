"""# q25 What was computed before a swap

V0 · prefix caching

After a swap, the blocks that a sequence had before it still count as its computed blocks.

## Expected
The computed blocks of a sequence are among its own blocks.

## What happens
The table of `b` begins with the blocks 0 and 1 of `a`, which are computed. Then `b` is swapped out,
`a` leaves, and `d` takes the two blocks for other tokens. `b` returns into other blocks. Asked
which of its blocks are computed, the manager still answers 0 and 1. They belong to `d`.

## Why
Looking up the whole prefix in every step would be slow, so a tracker remembers the answer for each
sequence, and forgets it when the sequence is freed. Swapping does not tell it anything.

## What to do
Nothing: the worker looks at these blocks only while a prompt is computed. Do not rely on them for a
sequence that has returned from the CPU.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=9, cpu_blocks=4, caching=True)
    a = story.arrive([*range(8), 50], "a")
    story.manager.mark_blocks_as_computed(a.group, 9)
    b = story.arrive([*range(8), 60], "b")
    computed = story.manager.get_common_computed_block_ids
    before = {"blocks": b.block_ids, "computed": computed([b.seq])}
    b.swap_out()
    a.leave()
    c = story.arrive(range(100, 128), "c")
    d = story.arrive(range(200, 208), "d")
    c.leave()
    b.swap_in()
    after = {"blocks": b.block_ids, "computed": computed([b.seq])}
    return Scene(story.run, b_before=before, b_after=after, blocks_of_d=d.block_ids)


ANSWER = {
    "b_before": {"blocks": [0, 1, 3], "computed": [0, 1]},
    "b_after": {"blocks": [8, 7, 6], "computed": [0, 1]},
    "blocks_of_d": [1, 0],
}
