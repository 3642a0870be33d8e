"""# w33 Tokens that nobody computes

V1 · priority

With priorities, a threshold for long prompts and prefix caching together, a request can find a
block whose tokens were never computed.

## Expected
A block in the cache holds the keys and values of its tokens.

## What happens
`low` has a prompt of 24 tokens, and beside `high` it computes 5 of them in a step. In the fourth
step it is to compute positions 18 to 22. They fill block 6, which gets its hash, and begin block 7,
the last free one. Then `high` needs a block, and `low` is the victim. Its chunk is taken out of the
step, so nobody writes positions 18 and 19 into block 6. In the fifth step `low` returns, finds
block 6, and goes on behind it. From here on its attention reads whatever lies in the two slots.
Nothing is logged.

## Why
Three habits meet, and each alone is harmless. A block gets its hash when the step that fills it is
scheduled (w05). A victim may be a request that the step has scheduled already (w25). And a freed
block keeps its hash. Without the threshold a long prompt takes the whole budget, so that nobody
behind it can need its blocks in the same step. V0 never preempts what it has scheduled, but there a
similar gap has another cause (q45).

## What to do
Do not use `long_prefill_token_threshold` together with `--scheduling-policy priority`. If you need
both, switch prefix caching off.

## Threads
* [vllm#57580](https://github.com/vllm-project/vllm/issues/57580): the same with layers that keep a
  state: a request found 48 tokens, and 32 had been computed.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    limits = {"max_num_batched_tokens": 8, "long_prefill_token_threshold": 5}
    engine = Engine("v1", gpu_blocks=8, policy="priority", **limits)
    low = engine.add("low", 24, priority=1)
    steps, missing = [], set(range(24))
    for number in range(5):
        steps.append(engine.step())
        end = low.num_computed_tokens
        missing -= set(range(end - steps[-1].get("low", 0), end))
        if number == 0:
            engine.add("high", 3, priority=0, max_tokens=3)
    counts = {"counted_as_computed": low.num_computed_tokens, "never_computed": sorted(missing)}
    return Scene(engine.run, steps=steps, **counts)


ANSWER = {
    "steps": [{"low": 8}, {"low": 5, "high": 3}, {"low": 5, "high": 1}, {"high": 1}, {"low": 4}],
    "counted_as_computed": 24,
    "never_computed": [18, 19],
}
