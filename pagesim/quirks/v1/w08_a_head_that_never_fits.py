"""# w08 A head that never fits

V1 · scheduling

A prompt that is larger than the pool waits forever, and so does everything behind it.

## Expected
A server refuses at once what it can never do. Or at least, a request that can never run does not
stop those that can.

## What happens
`schedule()` looks at the head of the queue, finds too few free blocks for it, and admits nobody.
The next step is the same. Nothing runs, nothing is logged as an error, and the small request behind
the large one waits although the whole pool is free.

## Why
V1 knows only "not now": `allocate_slots` returns None, whether the blocks will be free later or
never. The queue is first come, first served, so the first None ends the admission of this step. V0
did know: it ignored such a prompt, and the client got an empty output.

## What to do
The server of this release refuses to start with a `max_model_len` above what the pool holds, and
refuses a longer prompt before it is queued. In an engine of your own, do both: `pagesim size` says
how much a pool holds. A request that waits in this way can only be aborted.

## Threads
* [vllm#39734](https://github.com/vllm-project/vllm/issues/39734): a server with 76,640 tokens of
  cache and a prompt of about 100,000 stood still until the client gave up.
* [vllm#35541](https://github.com/vllm-project/vllm/issues/35541): a small `num_gpu_blocks_override`
  had the same effect: prompts of 63 blocks, and 49 that can be used.
* [vllm#35570](https://github.com/vllm-project/vllm/pull/35570): a proposal to end such a request
  with an error. It was not merged.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=4)  # three can be used, for 12 tokens
    engine.add("large", 13)
    engine.add("small", 2)
    steps = engine.steps(3)
    return Scene(engine.run, steps=steps, waiting=engine.waiting, free_blocks=engine.free)


ANSWER = {"steps": [{}, {}, {}], "waiting": ["large", "small"], "free_blocks": 3}
