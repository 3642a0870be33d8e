"""# q24 A block table that changes later

V0 · blocks · mended

A block table that vLLM has handed out grows with the sequence: it is the manager's own list.

## Expected
What the scheduler has said about a step does not change later.

## What happens
The block table of `a` is read and kept. Then `a` writes a token, and gets a second block. In vLLM
the kept table has two blocks now, and so have the tables in the metadata of earlier steps. In
pagesim it still has one.

## Why
Copying every table in every step takes time. vLLM hands out the list itself.

## What to do
If you log or compare the metadata of steps, copy the tables at once: `list(table)`.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story()
    a = story.arrive(range(4), "a")
    kept = story.manager.get_block_table(a.seq)
    a.write([4])
    return Scene(story.run, kept=kept, now=story.manager.get_block_table(a.seq))


ANSWER = {"kept": [0], "now": [0, 1]}
