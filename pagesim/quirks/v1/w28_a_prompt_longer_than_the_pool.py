"""# w28 A prompt that is longer than the pool

V1 · sliding window · beside q40

With a sliding window, a prompt that is longer than the whole pool is admitted and computed.

## Expected
40 tokens need ten blocks. The pool has seven, so the prompt waits forever (w08).

## What happens
The prompt begins at once and is computed in five chunks of 8 tokens. Blocks behind the window of 5
tokens are given back on the way. In the end the table has 11 entries, and 9 of them are the null
block: the request holds 2 blocks.

## Why
Admission counts no more than the blocks of the window and of the tokens in flight (here one step),
and one block beside them, because a request never holds more at a time. V0 also counts no more than
the window, but it then allocates the whole prompt at once, and fails (q40).

## What to do
Nothing. This helps only if every layer has a window: a single layer with full attention needs the
blocks of the whole prompt.

## Threads
* [vllm#40946](https://github.com/vllm-project/vllm/pull/40946): since then admission counts like
  this; before, long prompts of models with windows waited forever, and all others behind them.
* [vllm#39866](https://github.com/vllm-project/vllm/pull/39866): prompts above 48,000 tokens were
  never admitted; an earlier proposal, with measurements.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=8, sliding_window=5, max_num_batched_tokens=8)
    engine.add("a", 40)
    steps = engine.steps(6)
    table = engine.table("a")
    return Scene(engine.run, steps=steps, entries=len(table), blocks=len(table) - table.count(0))


ANSWER = {
    "steps": [{"a": 8}, {"a": 8}, {"a": 8}, {"a": 8}, {"a": 8}, {"a": 1}],
    "entries": 11,
    "blocks": 2,
}
