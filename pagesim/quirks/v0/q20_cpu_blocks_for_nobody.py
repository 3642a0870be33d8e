"""# q20 CPU blocks that nobody frees

V0 · swapping

A request that outgrows the GPU is swapped out and ignored, and its CPU blocks stay taken.

## Expected
A request that ends gives back all of its blocks.

## What happens
`a` fills both blocks of the GPU with its prompt. Its first output token needs a third block, so the
request preempts itself, and its two blocks move to the CPU. To return it would need three blocks,
but the GPU has two, so `can_swap_in` answers NEVER. The request ends as `FINISHED_IGNORED`. Its two
blocks on the CPU are still taken, and nobody will free them while the server runs.

## Why
A request that ends normally is freed by the engine, among the running ones. This one is only
removed from the list of those that are swapped out.

## What to do
Prompt and output together must fit into the pool, as in q19. If the "CPU KV cache usage" in the log
never returns to 0 %, look for such requests.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v0", gpu_blocks=2, cpu_blocks=4, watermark=0.0, preemption_mode="swap")
    engine.add("a", 8)
    steps = engine.steps(3)
    status = engine.status("a")
    free = {"GPU": engine.free, "CPU": engine.scheduler.block_manager.get_num_free_cpu_blocks()}
    return Scene(engine.run, steps=steps, status=status, free_blocks=free)


ANSWER = {
    "steps": [{"a": 8}, {}, {}],
    "status": "FINISHED_IGNORED",
    "free_blocks": {"GPU": 2, "CPU": 2},
}
