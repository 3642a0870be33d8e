"""# q46 Forks that overdraw the budget

V0 · chunked prefill · mended

With chunked prefill, a forked request can use more tokens than the step has left, and stop the
server.

## Expected
What does not fit into the rest of the budget waits for the next step.

## What happens
A step has a budget of four tokens. `a` and `b` have three sequences each, and the prompt of `c` has
six tokens. vLLM lets both forked requests run: six tokens in a step of four. Then it stops at an
assertion, or a running prompt behind them gets a negative number of tokens. In pagesim `b` waits
for the next step, and `c` takes the one token that `a` leaves. No step computes more than four
tokens.

## Why
A prompt is cut to what is left of the budget. A request of several sequences cannot be cut, and the
loop over running requests asks only whether anything is left at all.

## What to do
If you fork, choose a `max_num_batched_tokens` of at least `max_num_seqs` times the number of
sequences in a request.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    chunks = {"enable_chunked_prefill": True, "max_num_batched_tokens": 4}
    engine = Engine("v0", watermark=0.0, **chunks)
    engine.add("a", 2)
    engine.add("b", 2)
    engine.step()
    for name in "aabb":
        engine.fork(name)
    engine.add("c", 6)
    steps = engine.steps(4)
    size = {name: len(group.seqs) for name, group in engine.requests.items()}
    tokens = [sum(size[name] * count for name, count in step.items()) for step in steps]
    return Scene(engine.run, sequences=size, steps=steps, tokens=tokens)


ANSWER = {
    "sequences": {"a": 3, "b": 3, "c": 1},
    "steps": [{"c": 1, "a": 1}, {"b": 1}, {"c": 1, "a": 1}, {"b": 1}],
    "tokens": [4, 3, 4, 3],
}
