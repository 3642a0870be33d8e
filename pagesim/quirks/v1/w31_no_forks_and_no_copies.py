"""# w31 No forks, no copies, no common prefix

V1 · sharing

In V1 several samples of a prompt are requests of their own, which share whole blocks through the
cache and nothing else.

## Expected
The samples of a prompt share all of its blocks, and the first one to write into a shared block gets
a copy of it.

## What happens
Two requests have the same 9 tokens. They share blocks 1 and 2. The ninth token is in a block of its
own for each, because only full blocks are shared. `get_num_common_prefix_blocks` answers 0,
although two blocks are common.

## Why
A request with `n=2` is split into two before the scheduler sees it. Full blocks are never written
again, so there is nothing to copy. The common prefix was counted for cascade attention, a kernel
that this release no longer has. V0 forks, copies on write and swaps; V1 does none of this.

## What to do
Leave prefix caching on for `n` above 1: without it, the prompt is computed and stored n times.

## Threads
* [vllm#39647](https://github.com/vllm-project/vllm/issues/39647): what the early split costs, above
  all if prompts are computed on another machine.
* [vllm#18115](https://github.com/vllm-project/vllm/issues/18115): V1 does not know
  `--preemption-mode`: it always computes a victim again.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1")
    engine.add("a", range(9))
    engine.add("b", range(9))
    engine.step()
    (common,) = engine.scheduler.kv_cache_manager.get_num_common_prefix_blocks("a")
    tables = {name: engine.table(name) for name in "ab"}
    return Scene(engine.run, tables=tables, common_prefix_blocks=common)


ANSWER = {"tables": {"a": [1, 2, 3], "b": [1, 2, 4]}, "common_prefix_blocks": 0}
