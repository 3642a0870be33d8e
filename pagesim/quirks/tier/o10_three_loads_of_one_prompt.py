"""# o10 The same prompt, loaded three times

V1 · second tier

Three equal prompts load once and share the blocks; without prefix caching on the GPU, each loads
for itself.

## Expected
The prompt is on the CPU. Either all three load it, or one loads it and the others share it.

## What happens
With prefix caching on the GPU, one request loads and two wait. When the load has ended, all three
have a hit. Without prefix caching, all three load the same chunks at the same time, into blocks of
their own.

## Why
A chunk that is being loaded is remembered, so that others wait for it, because they will find it on
the GPU. Without a cache there, they would wait in vain.

## What to do
Leave prefix caching on if you use a second tier.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    loading = []
    for caching in (True, False):
        engine = Engine("v1", gpu_blocks=14, cpu_blocks=40, enable_prefix_caching=caching)
        engine.add("a", range(9), max_tokens=1)
        engine.steps(3)
        engine.add("other", 52, max_tokens=1)  # the GPU forgets a
        engine.steps(3)
        for name in "bcd":
            engine.add(name, range(9), max_tokens=1)
        engine.step()
        loading.append(engine.holding)
    return Scene(engine.run, loading=loading[0], loading_without_caching=loading[1])


ANSWER = {"loading": ["b"], "loading_without_caching": ["b", "c", "d"]}
