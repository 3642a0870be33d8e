"""# w05 A block is found before it is computed

V1 · prefix caching · beside q14

A request can share blocks that another request of the same step has yet to compute.

## Expected
A block can be found only after a step has stored its keys and values.

## What happens
`a` and `b` arrive together with the same 9 tokens. `a` computes all of them. `b` is looked up in
the same step: it finds blocks 1 and 2, into which nothing has been written yet, and computes only
its last token.

## Why
V1 gives a block its hash when the step that fills it is scheduled. The requests of a step are
computed together, layer by layer, and a layer stores all keys and values before its attention reads
any. So `b` reads what `a` has just stored. V0 shares the blocks as well, but it takes them for
computed only after the step, so `b` computes all 9 tokens (q14).

## What to do
Nothing: this is why twenty equal prompts that arrive at once are prefilled almost for the price of
one. In an engine of your own, every layer must store first and then read.

## Threads
* [nano-vllm#209](https://github.com/GeeeekExplorer/nano-vllm/pull/209): a small engine counted such
  hits wrongly; a proposal to forbid them.
* [vllm#29387](https://github.com/vllm-project/vllm/pull/29387): for layers that keep a state such a
  hit was a mistake. Since then the second request waits for the next step.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=13)
    engine.add("a", range(9))
    engine.add("b", range(9))
    computed = engine.step()
    tables = {name: engine.table(name) for name in "ab"}
    return Scene(engine.run, computed=computed, tables=tables)


ANSWER = {"computed": {"a": 9, "b": 1}, "tables": {"a": [1, 2, 3], "b": [1, 2, 4]}}
