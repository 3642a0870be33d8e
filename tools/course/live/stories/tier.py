"""A second cache on the CPU

V1 copies full blocks to the CPU's memory, which is larger. Request c takes the blocks
that held a's prompt. When the same prompt comes again, is it loaded or computed? Leave c out.
"""

import pagesim

engine = pagesim.Engine(
    "v1", gpu_blocks=6, cpu_blocks=8, block_size=4
)
prompt = "Why is a raven like a black writing desk"


def serve(name, words):
    request = engine.add(name, words, max_tokens=2)
    while not request.is_finished():
        engine.step()


serve("a", prompt)
serve("c", 18)
serve("again", prompt)

engine.run
