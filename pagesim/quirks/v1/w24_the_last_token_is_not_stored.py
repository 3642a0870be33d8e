"""# w24 The last token is never stored

V1 · prefix caching

The last token that a request generates has no key and value, so the block that it would complete is
not cached.

## Expected
A prompt of 4 tokens and an output of 4 fill two blocks, and the next turn of the chat finds both.

## What happens
The next prompt begins with the same 8 tokens. It finds 4 of them, and computes 5: the four of the
output, and a new one. Only the first block is cached.

## Why
The key and value of a token are computed one step after the token was sampled. The request ends
with its fourth token, so there is no further step, and 7 tokens are stored. V0 does the same.

## What to do
Nothing: it costs at most one block for each turn of a chat.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1")
    a = engine.add("a", range(4), max_tokens=4)
    engine.steps(4)
    engine.add("b", [*a.all_token_ids, 9])
    return Scene(engine.run, tokens_of_a=a.num_tokens, computed=engine.step())


ANSWER = {"tokens_of_a": 8, "computed": {"b": 5}}
