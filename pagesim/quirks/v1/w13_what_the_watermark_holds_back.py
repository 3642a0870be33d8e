"""# w13 The watermark lets the first request through

V1 · watermark

The watermark holds back only waiting requests, and only while another request runs.

## Expected
With a watermark of 0.5, half of the pool is always free.

## What happens
The pool has 8 blocks, so the watermark is 4. `a` takes 4 of the 7 usable blocks. It begins although
only 3 remain, because nothing else runs. `b` needs one of these 3 blocks, and has to wait: with `a`
running, 4 would have to remain.

## Why
The free blocks are meant for running requests, so that they can grow and need not be preempted.
Running requests therefore ignore the watermark, and so does the first one to begin: there is nobody
to protect, and a large prompt would otherwise wait forever. V0 holds back every prompt, whether
something runs or not, with a watermark of 1 % unless you say otherwise. V1's default is 0.

## What to do
If the log shows preemptions, try a `watermark` of 0.02 or 0.05. A larger one has less and less
effect on preemptions, and fewer requests run.

## Threads
* [vllm#44594](https://github.com/vllm-project/vllm/pull/44594): the watermark of V1, with a table:
  1,065 preemptions without it, 400 with 2 %, 187 with 5 % and 168 with 10 %.
* [vllm#28018](https://github.com/vllm-project/vllm/pull/28018): an earlier proposal: a victim was
  admitted again in the next step, and preempted again soon.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=8, watermark=0.5)
    engine.add("a", 16)
    engine.add("b", 4)
    step = engine.step()
    return Scene(engine.run, step=step, waiting=engine.waiting, free=engine.free)


ANSWER = {"step": {"a": 16}, "waiting": ["b"], "free": 3}
