"""# q12 Evicted, but not the least recently used

V0 · eviction

The evictor takes a block although another one was last used earlier.

## Expected
The block whose last use is longest ago is evicted. Here this is block 2.

## What happens
`a`, `b` and `c` have one block each, and were last computed at the times 2, 3 and 1. They leave in
this order, and all three blocks stay cached. Then `d` needs a block. It gets block 0, of `a`,
although block 2, of `c`, has gone unused for longer.

## Why
The evictor looks at its blocks in the order in which they were freed. It stops at the first one
that was used later than the best so far, because in most cases all that follow were used later,
too. Here it stops at `b`, and never sees `c`.

## What to do
Nothing: no output is wrong, only a later hit is lost. This happens only when a request is freed
long after it was last computed.

## Threads
* [vllm#7193](https://github.com/vllm-project/vllm/pull/7193): a search through all entries was too
  slow; the new one relies on the lowest times being at the start.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=3, caching=True)
    last_used = {"a": 2.0, "b": 3.0, "c": 1.0}
    writers = {name: story.arrive(range(10 * i, 10 * i + 4), name) for i, name in enumerate("abc")}
    for name, writer in writers.items():
        story.manager.access_all_blocks_in_seq(writer.seq, last_used[name])
        writer.leave()
    d = story.arrive(range(90, 94), "d")
    return Scene(story.run, last_used=last_used, block_of_d=d.block_ids)


ANSWER = {"last_used": {"a": 2.0, "b": 3.0, "c": 1.0}, "block_of_d": [0]}
