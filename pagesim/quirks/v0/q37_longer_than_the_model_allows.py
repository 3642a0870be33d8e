"""# q37 A prompt that is longer than the model allows

V0 · chunked prefill

With chunked prefill, a prompt that exceeds `max_model_len` is computed all the same.

## Expected
A prompt of 14 tokens is ignored if `max_model_len` is 10, with chunks or without.

## What happens
Without chunked prefill the request ends as ignored. With it, ten tokens are computed in the first
step and four in the second, and the request goes on to generate output.

## Why
The scheduler compares the limit with the number of tokens that it is about to compute. Without
chunks this is the whole prompt, with chunks it is what the step's budget leaves.

## What to do
Refuse prompts that are too long before you add them to the engine. The OpenAI-compatible server
does so.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    limits = {"max_model_len": 10, "max_num_batched_tokens": 10}
    steps, status = {}, {}
    for chunked in (False, True):
        mode = "with chunks" if chunked else "without"
        engine = Engine("v0", enable_chunked_prefill=chunked, **limits)
        engine.add("a", 14)
        steps[mode], status[mode] = engine.steps(2), engine.status("a")
    return Scene(engine.run, steps=steps, status=status)


ANSWER = {
    "steps": {"without": [{}, {}], "with chunks": [{"a": 10}, {"a": 4}]},
    "status": {"without": "FINISHED_IGNORED", "with chunks": "RUNNING"},
}
