"""# w29 A token that fits needs no free block

V1 · preemption · beside q31

A request whose next token fits into its last block runs on, even if no block is free.

## Expected
A full pool means that somebody is preempted in the next step.

## What happens
`a` and `b` have 6 tokens each and hold all four blocks. Nothing is free. Both still generate two
tokens, into the last two slots of their second blocks. Only the fourth step needs a new block, and
preempts `b`.

## Why
V1 asks for the blocks that a token really needs, and here that is none. V0 counts one block for
every sequence that runs, and preempts `b` as early as the second step (q31).

## What to do
Nothing. A usage of 100 % is not yet a shortage.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=5)
    engine.add("a", 6)
    engine.add("b", 6)
    first, free = engine.step(), engine.free
    steps = [first, *engine.steps(3)]
    return Scene(
        engine.run, free_after_the_first=free, steps=steps, preemptions_of_b=engine.preemptions("b")
    )


ANSWER = {
    "free_after_the_first": 0,
    "steps": [{"a": 6, "b": 6}, {"a": 1, "b": 1}, {"a": 1, "b": 1}, {"a": 1}],
    "preemptions_of_b": 1,
}
