"""vLLM today, step by step

Two requests meet in V1's scheduler. A step computes at most eight tokens, so the long prompt is cut
into chunks. The pool is too small for both requests. Which one is preempted? Give the pool three
more blocks.
"""

import pagesim

engine = pagesim.Engine(
    "v1", gpu_blocks=8, max_num_batched_tokens=8
)
engine.add("a", 13, max_tokens=8)
engine.add("b", 6, max_tokens=6)

while engine.waiting or engine.running:
    print(engine.step())

engine.run
