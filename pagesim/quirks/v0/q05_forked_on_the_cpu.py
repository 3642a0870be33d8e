"""# q05 A fork that is made on the CPU

V0 · swapping · mended

A fork that is made while its parent is swapped out cannot write after both have been swapped in.

## Expected
The fork goes on like any other sequence, wherever it was made.

## What happens
`a` is swapped out, forked on the CPU, and swapped in together with its fork. On the GPU each of
them has two blocks of its own (q06 says why). Then the fork writes a token. vLLM raises an
AssertionError; in pagesim the token is written into block 3.

## Why
In vLLM a block remembers the allocator that made it. The blocks of the fork were made by the CPU's
allocator, and still ask it for room when they are on the GPU. In pagesim a block that moves changes
its allocator.

## What to do
Fork only what is running.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene, error_of
from pagesim.story import Story
from pagesim.v0.sequence import Logprob


def scenario() -> Scene:
    story = Story(gpu_blocks=4, cpu_blocks=4)
    a = story.arrive(range(6), "a")
    a.swap_out()
    fork = a.seq.fork(1)
    a.group.add(fork)
    story.manager.fork(a.seq, fork)
    a.swap_in()
    fork.append_token_id(6, {6: Logprob(0.0)})
    error = error_of(story.manager.append_slots, fork, 0)
    tables = {"a": a.block_ids, "fork": story.manager.get_block_table(fork)}
    return Scene(story.run, error=error, tables=tables)


ANSWER = {"error": "none", "tables": {"a": [1, 0], "fork": [2, 3]}}
