"""# q04 A sequence that is too long to fork

V0 · sharing · mended

A sequence of about a thousand blocks cannot be forked: vLLM raises a RecursionError.

## Expected
A fork shares the blocks of its parent, however many there are.

## What happens
The sequence has 1,050 blocks; with blocks of 16 tokens this is a text of 16,800 tokens. vLLM raises
a RecursionError: maximum recursion depth exceeded. In pagesim the fork shares all 1,050 blocks.

## Why
A block knows only its predecessor. vLLM walks from the last block to the first with a function that
calls itself once for every block, and Python allows about a thousand nested calls. pagesim walks in
a loop.

## What to do
Fork while the sequence is short, or choose larger blocks. The engine of 0.6.4 no longer forks
sequences: it splits a request for n samples into n requests.

## Threads
* [sonar#459](https://github.com/dphnAI/sonar/pull/459): an engine with the same block layer failed
  at about 60,000 tokens; the change walks in a loop instead.
* [swe-rl#11](https://github.com/facebookresearch/swe-rl/issues/11): a traceback of vLLM in which
  the function calls itself through `prev_block` more than 970 times.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=1_050, record=False)
    parent = story.arrive(range(1_050 * 4))
    fork = parent.fork()
    return Scene(blocks_shared=len(fork.block_ids), same_blocks=fork.block_ids == parent.block_ids)


ANSWER = {"blocks_shared": 1_050, "same_blocks": True}
