"""# w15 The threshold for long prompts ignores one that is alone

V1 · chunked prefill

`long_prefill_token_threshold` limits a prompt only while there is another request beside it.

## Expected
With a threshold of 4, no prompt computes more than 4 tokens in a step.

## What happens
A prompt of 10 tokens that is alone computes all 10 at once. Two such prompts compute 4 each in the
first step, although the budget has room for both.

## Why
The threshold keeps a long prompt from taking the whole budget, so that others can begin. With
nobody beside it, smaller chunks would only delay its first token. V0 has no such setting.

## What to do
Nothing: the setting costs a lone request nothing. Do not rely on it to limit the memory of a step;
`max_num_batched_tokens` does that.

## Threads
* [vllm#57951](https://github.com/vllm-project/vllm/pull/57951): the limit has spared lone prompts
  since then.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    alone = Engine("v1", long_prefill_token_threshold=4)
    alone.add("a", 10)
    together = Engine("v1", long_prefill_token_threshold=4)
    together.add("a", 10)
    together.add("b", 10)
    return Scene(together.run, alone=alone.step(), together=together.step())


ANSWER = {"alone": {"a": 10}, "together": {"a": 4, "b": 4}}
