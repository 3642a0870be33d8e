"""# w01 A pool of five blocks holds four

V1 · blocks

V1 keeps one block for itself, so a pool of N blocks has room for the tokens of N - 1.

## Expected
Five blocks of 4 tokens hold 20 tokens.

## What happens
A prompt of 16 tokens takes blocks 1 to 4, and the usage is 100 %. After it has left, a prompt of 17
tokens arrives. It needs five blocks, and four can be used. All four are free, and yet the prompt
waits, forever (w08).

## Why
Block 0 is the null block: it is entered in a table in place of blocks that are no longer read, such
as those behind a sliding window. V1 takes it out of the pool at the start, whether the model has a
window or not. V0 makes a null block only when a window needs one (q36).

## What to do
When you choose the number of blocks yourself (`num_gpu_blocks_override`), allow one block more than
`max_model_len` needs. Otherwise the server does not start.

## Threads
* [vllm#47272](https://github.com/vllm-project/vllm/pull/47272): the check at start-up counted the
  null block as room, so a server started that could never run a request of `max_model_len` tokens.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=5)
    engine.add("a", 16)
    engine.step()
    table, usage = engine.table("a"), engine.scheduler.kv_cache_manager.usage
    engine.abort("a")
    engine.add("b", 17)
    step = engine.step()
    return Scene(
        engine.run,
        table=table,
        usage=usage,
        next_step=step,
        waiting=engine.waiting,
        free=engine.free,
    )


ANSWER = {"table": [1, 2, 3, 4], "usage": 1.0, "next_step": {}, "waiting": ["b"], "free": 4}
