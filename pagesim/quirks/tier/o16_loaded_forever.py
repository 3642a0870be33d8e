"""# o16 One token, loaded forever

V1 · second tier

With blocks of one token, a prompt of one token that is on the CPU is never computed.

## Expected
The token is loaded, and then computed once more to sample the next one.

## What happens
All six steps are empty. The request loads, is done, and loads again. It is always
`WAITING_FOR_REMOTE_KVS`.

## Why
A prompt that was loaded to its last token must compute one token, so the count of computed tokens
goes down by one: from 1 to 0. But 0 also means "not looked up yet". So the request is looked up
again, and the CPU still has it.

## What to do
Nothing: this happens only with chunks of a single token.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=4, cpu_blocks=40, block_size=1)
    engine.add("a", [7], max_tokens=1)
    engine.steps(2)
    engine.add("other", 3, max_tokens=1)  # the GPU forgets a
    engine.steps(3)
    engine.add("b", [7], max_tokens=1)
    steps = engine.steps(6)
    loads = sum(event.kind == "load" for event in engine.run)
    return Scene(engine.run, steps=steps, status=engine.status("b"), loads=loads)


ANSWER = {"steps": [{}] * 6, "status": "WAITING_FOR_REMOTE_KVS", "loads": 6}
