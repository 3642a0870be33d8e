"""# w09 A request that outgrows the pool

V1 · preemption · beside q19

A request that needs one block more than the pool has preempts itself, and then waits forever.

## Expected
The request ends with an error, or with the tokens that it has generated so far.

## What happens
The request runs until it holds every block. For its next token it needs another one, and the only
request that can be preempted is the request itself. It goes back to the queue with all its tokens.
Now its prompt and its output are one prompt that can never fit, and the steps stay empty.

## Why
Preemption assumes that somebody else will end and return blocks. Nobody else is there. The
admission test then says "not now", as for every prompt that is too large (w08).

## What to do
Prompt and output together must fit into the pool. The server refuses to start with a
`max_model_len` above what the pool holds; in an engine of your own, check this, or limit
`max_tokens` for each request.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=3)  # two can be used, for 8 tokens
    engine.add("a", 6, max_tokens=20)
    steps = engine.steps(6)
    return Scene(
        engine.run, steps=steps, status=engine.status("a"), preemptions=engine.preemptions("a")
    )


ANSWER = {
    "steps": [{"a": 6}, {"a": 1}, {"a": 1}, {}, {}, {}],
    "status": "PREEMPTED",
    "preemptions": 1,
}
