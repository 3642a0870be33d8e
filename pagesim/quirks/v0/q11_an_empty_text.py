"""# q11 An empty string for no blocks

V0 · prefix caching · mended

Asked for the computed blocks that two sequences have in common, vLLM answers with an empty string
if there are none.

## Expected
vLLM answers with a list of no blocks: [].

## What happens
Neither of the two sequences has a computed block. vLLM's `get_common_computed_block_ids` returns
`''`, although it returns a list in all other cases. pagesim returns an empty list.

## Why
vLLM leaves out the empty lists, and gives the rest to Python's `os.path.commonprefix`, which is
meant for file names. For an empty list this function returns `''`.

## What to do
Nothing, if you only use the engine: it asks no more than whether there are any. In your own code,
test the result with `if not block_ids`.

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
