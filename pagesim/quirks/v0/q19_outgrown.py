"""# q19 A request that outgrows the GPU

V0 · preemption · beside w09

A request that needs one block more than the pool has is preempted again and again, and then
ignored.

## Expected
The request ends with an error, or with the tokens that it has generated so far.

## What happens
The prompt of six tokens takes both blocks. For its next token the request preempts itself, although
the token would fit (q31), and is computed again with one token more. The same happens for the token
after that. Then it has nine tokens, which need a third block. It preempts itself once more, and the
admission test sees a prompt that is larger than the pool: the request ends as `FINISHED_IGNORED`.

## Why
`can_allocate` compares what a prompt needs with the whole pool (less the watermark, which is 0
here), and answers NEVER. V0 never asks whether prompt and output together can fit before it starts.

## What to do
The sum of prompt and output must fit: choose a `max_model_len` of at most what the pool holds. The
server refuses to start with a larger one, but a scheduler of your own does not check it.

## Threads
* [vllm#2163](https://github.com/vllm-project/vllm/pull/2163): the server compares `max_model_len`
  with the size of the cache when it starts.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v0", gpu_blocks=2, watermark=0.0)
    engine.add("a", 6, max_tokens=20)
    steps = engine.steps(7)
    return Scene(
        engine.run, steps=steps, status=engine.status("a"), preemptions=engine.preemptions("a")
    )


ANSWER = {
    "steps": [{"a": 6}, {}, {"a": 7}, {}, {"a": 8}, {}, {}],
    "status": "FINISHED_IGNORED",
    "preemptions": 3,
}
