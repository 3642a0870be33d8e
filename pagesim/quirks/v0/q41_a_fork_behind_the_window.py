"""# q41 A fork after the window has moved on

V0 · sliding window · mended

A sequence whose first blocks have left its sliding window cannot be forked: vLLM raises a
RecursionError.

## Expected
The fork shares what is left, and the entries of the blocks that are gone.

## What happens
Two blocks of `a` are outside the window, and the null block, block 5, stands in their place. vLLM
raises a RecursionError when `a` is forked. In pagesim the fork has the same table as `a`.

## Why
vLLM walks from the last block to the first, from each to its predecessor. It also uses the objects
of freed blocks again: the newest block is the object of a dropped one, which an older block still
calls its predecessor. So the walk goes around in a circle.

## What to do
With a sliding window, fork only while the sequence is shorter than the window.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(sliding_window=4)
    a = story.arrive(range(20), "a")
    a.seq.data.update_num_computed_tokens(20)
    a.write([20])
    error = error_of(a.fork, "fork")
    tables = [writer.block_ids for writer in story.writers]
    return Scene(story.run, error=error, tables=tables)


ANSWER = {"error": "none", "tables": [[5, 5, 2, 3, 4, 1], [5, 5, 2, 3, 4, 1]]}
