"""# w26 Blocks are used again before the workers hear of the end

V1 · scheduling

The blocks of a request are free as soon as its last output arrives, and the next step may give them
to another request.

## Expected
The workers are told that a request has ended, and only then are its blocks used again.

## What happens
`a` holds the whole pool and ends with the first step. The workers have not been told yet. The
second step tells them, and in the same step `b` is computed into the blocks 3, 2 and 1, which were
those of `a`.

## Why
The workers take the steps one after another. When the second step begins, everything that `a` had
to read or write is done.

## What to do
Nothing, unless something copies blocks beside the steps, as a connector does. It must hold its
blocks until its copy is complete.

## Threads
* [vllm#45357](https://github.com/vllm-project/vllm/pull/45357): with asynchronous steps and keys
  and values that arrive over a network, a step in flight wrote into a block that had a new owner.
  Since then blocks are freed later in this case.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=4)
    engine.add("a", 12, max_tokens=1)
    engine.add("b", 12)
    first = engine.step()
    untold = sorted(engine.scheduler.finished_req_ids)
    steps = [first, engine.step()]
    return Scene(engine.run, steps=steps, not_yet_told=untold, table_of_b=engine.table("b"))


ANSWER = {"steps": [{"a": 12}, {"b": 12}], "not_yet_told": ["a"], "table_of_b": [3, 2, 1]}
