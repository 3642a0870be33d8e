"""# q16 Swapped out forever, beside an empty GPU

V0 · watermark

A swapped-out request that needs the blocks of the watermark never returns, though the GPU is empty.

## Expected
The request is swapped in as soon as the GPU has room for it, or it ends if it can never fit.

## What happens
The pool has five blocks, and the watermark keeps one of them free. `a` runs until it holds all
five, because running requests may use the watermark. For its next token it preempts itself,
although the token would fit (q31), and is swapped out. To return it needs five blocks again, and
swapping in must leave one free. The answer is LATER in every step, while all five are free. For a
prompt of the same size, `can_allocate` answers NEVER, and such a request ends.

## Why
`can_allocate` compares what is needed with the pool less the watermark, `can_swap_in` with the
whole pool. Between the two limits, `can_swap_in` waits for a moment that cannot come.

## What to do
Choose a `max_model_len` of at most what the pool holds above the watermark, which is 1 % by
default. Or choose `preemption_mode="recompute"`: then such a request ends as ignored.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine
from pagesim.v0.sequence import Sequence, SequenceGroup


def scenario() -> Scene:
    engine = Engine("v0", gpu_blocks=5, cpu_blocks=5, watermark=0.2, preemption_mode="swap")
    a = engine.add("a", 15, max_tokens=20)
    steps = engine.steps(6)
    manager = engine.scheduler.block_manager
    prompt = SequenceGroup("as long", [Sequence(1, a.first_seq.get_token_ids(), 4)])
    answers = {
        "can_swap_in": manager.can_swap_in(a, 0).name,
        "can_allocate": manager.can_allocate(prompt).name,
    }
    return Scene(engine.run, steps=steps, free_blocks=engine.free, answers=answers)


ANSWER = {
    "steps": [{"a": 15}, {"a": 1}, {"a": 1}, {}, {}, {}],
    "free_blocks": 5,
    "answers": {"can_swap_in": "LATER", "can_allocate": "NEVER"},
}
