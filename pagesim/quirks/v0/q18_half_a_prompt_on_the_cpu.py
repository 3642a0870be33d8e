"""# q18 Half a prompt that never returns

V0 · chunked prefill

A prompt that is swapped out half computed never returns if its rest is larger than the budget of a
step.

## Expected
The rest of the prompt is computed in chunks, as its beginning was.

## What happens
A step has a budget of eight tokens. `b` has a prompt of 30 tokens, of which seven are computed when
it is swapped out. Then `a` leaves, and all ten blocks are free. `b` stays on the CPU in every step,
and with it everything that is swapped out later.

## Why
Before a request is swapped in, its tokens are compared with the budget. Chunked prefill cuts
waiting and running prompts to what is left of the budget, but not those that are swapped in. The
rest of `b`, 23 tokens, never fits.

## What to do
With chunked prefill choose `preemption_mode="recompute"`, which is the default. Or choose a
`max_num_batched_tokens` of at least `max_model_len`.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    blocks = {"gpu_blocks": 10, "cpu_blocks": 16}
    chunks = {"enable_chunked_prefill": True, "max_num_batched_tokens": 8}
    engine = Engine("v0", watermark=0.0, preemption_mode="swap", **blocks, **chunks)
    engine.add("a", 4)
    engine.step()
    b = engine.add("b", 30)
    before = engine.steps(3)
    engine.abort("a")
    after, rest = engine.steps(3), b.get_num_uncomputed_tokens()
    return Scene(engine.run, before=before, after=after, rest_of_b=rest, free_blocks=engine.free)


ANSWER = {
    "before": [{"b": 7, "a": 1}, {"a": 1}, {"a": 1}],
    "after": [{}, {}, {}],
    "rest_of_b": 23,
    "free_blocks": 10,
}
