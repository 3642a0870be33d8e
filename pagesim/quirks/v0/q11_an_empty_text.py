"""# q11 An empty text for no blocks

V0 · prefix caching · mended

Asked for the computed blocks that two sequences have in common, vLLM answers '' if there are none.

## Expected
A list of no blocks: [].

## What happens
Neither of the two sequences has a computed block. vLLM's `get_common_computed_block_ids` returns an
empty text, where it returns a list in all other cases. pagesim returns an empty list.

## Why
vLLM leaves out the empty lists, and gives the rest to a function of Python that finds the common
beginning of file names. For no names at all it returns ''.

## What to do
Nothing to do in the engine, which only asks whether there are any. In your own code write `if not
block_ids`.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(caching=True)
    seqs = [story.arrive(words).seq for words in ("once upon a time", "in the beginning was")]
    return Scene(story.run, common_blocks=story.manager.get_common_computed_block_ids(seqs))


ANSWER: dict[str, list[int]] = {"common_blocks": []}
