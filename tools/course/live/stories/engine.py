"""vLLM today, step by step

Two requests on the scheduler of V1. A step may compute eight tokens, so the long prompt is cut, and
the pool is too small for both. Who is preempted? Give the pool three blocks more.
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
