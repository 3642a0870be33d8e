"""# w12 A step that preempts admits nobody

V1 · preemption

In a step that preempts a request, no waiting request is admitted, even if there is room for it.

## Expected
`c` needs one block. The victim has just returned three, so `c` begins.

## What happens
In the second step `a` takes the last free block, and `b` preempts itself for want of another. Three
blocks are free now, and `c` is not admitted. In the third step nobody is preempted. But `b` stands
at the head of the queue and needs four blocks, so `c` still waits behind it.

## Why
The victim is the request that was admitted last, or with priorities the one with the largest
number, and then the latest arrival. A preemption says that there is too little room for those that
run. What the victim returns is meant for them: if it were given to newcomers, the next step would
preempt again. Later `c` waits because the queue is first come, first served, and a victim goes to
its head.

## What to do
If the log shows preemptions, let fewer requests run at once: set a watermark (w13), lower
`max_num_seqs`, or make the pool larger. Each preemption lengthens the time to the first token of
those that wait.

## Threads
* [vllm#31731](https://github.com/vllm-project/vllm/issues/31731): one request that needs many
  blocks preempts others, and waiting requests are skipped although they would fit.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=7)
    engine.add("a", 8)
    engine.add("b", 12)
    engine.step()
    engine.add("c", 2)
    steps = engine.steps(2)
    return Scene(engine.run, steps=steps, waiting=engine.waiting, free=engine.free)


ANSWER = {"steps": [{"a": 1}, {"a": 1}], "waiting": ["b", "c"], "free": 3}
