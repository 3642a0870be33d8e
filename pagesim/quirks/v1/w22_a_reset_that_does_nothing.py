"""# w22 The cache is not reset while anything runs

V1 · prefix caching

`reset_prefix_cache` does nothing while a single block is in use, and answers False.

## Expected
After the call, nothing is found any more.

## What happens
While `a` runs, the answer is False, and everything stays cached. After `a` has left, it is True.
`b` has the same tokens and 8 more, and computes all 20. Its table is the whole free queue, 4, 5, 3,
2 and 1: the hashes are forgotten, and the order is as `a` left it.

## Why
You reset the cache when its content is wrong, for example after new weights were loaded. Blocks in
use could not be forgotten without stopping their requests, and half a reset would be worse than
none. V0 has no such call.

## What to do
Look at the answer. Let all requests end first, or pass `reset_running_requests=True`, which
preempts all of them.

## Threads
* [vllm#28827](https://github.com/vllm-project/vllm/pull/28827): the option was added, because it
  was easy to overlook that a reset had failed.
* [vllm#12284](https://github.com/vllm-project/vllm/pull/12284): the call itself. The server's
  endpoint answered 200 in both cases.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=6)
    engine.add("a", range(12))
    engine.step()
    first = engine.scheduler.reset_prefix_cache()
    engine.abort("a")
    second = engine.scheduler.reset_prefix_cache()
    engine.add("b", range(20))
    computed = engine.step()
    facts = {"while_a_runs": first, "afterwards": second, "computed": computed}
    return Scene(engine.run, **facts, table_of_b=engine.table("b"))


ANSWER = {
    "while_a_runs": False,
    "afterwards": True,
    "computed": {"b": 20},
    "table_of_b": [4, 5, 3, 2, 1],
}
