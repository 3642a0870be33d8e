"""# g10 The third request is the first to hit

V1 · groups

Of several prompts with a common beginning, the second one still finds nothing, and only the third
one finds this beginning.

## Expected
Three prompts share their first 16 tokens. The first is computed; the second and the third find 16
tokens.

## What happens
The first prompt computes 25 tokens, the second 25 as well, and the third 9.

## Why
The windows are cached only before the end of a prompt (g09), so the second prompt finds no window
at token 16. But its lookup sees that full attention has 16 tokens. The request remembers this
place, and when its own blocks are cached, the window before token 16 is kept too. From then on,
every request with this beginning finds it.

## What to do
After a restart, send a shared system prompt twice with different endings. In a benchmark, do not
count the first two requests with each prefix.

## Threads
* [vllm#45238](https://github.com/vllm-project/vllm/issues/45238): with states in place of windows,
  a long prompt had to be seen about three times before it was found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=60, groups="full,window:5")
    computed: dict[str, int] = {}
    for name, own in (("a", 50), ("b", 60), ("c", 70)):
        engine.add(name, [*range(16), *range(own, own + 9)], max_tokens=1)
        computed |= engine.step()
    return Scene(engine.run, tokens_computed=computed)


ANSWER = {"tokens_computed": {"a": 25, "b": 25, "c": 9}}
