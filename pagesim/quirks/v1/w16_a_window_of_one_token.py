"""# w16 A window of one token caches nothing

V1 · sliding window

With a sliding window of one token, no block is ever found again.

## Expected
Full blocks are cached, whatever the window.

## What happens
`a` fills three blocks and leaves. `b` begins with the same 12 tokens, and computes all 13. It is
given blocks 3, 2, 1 and 4: the first three were freed to the front of the queue, as blocks without
a hash are (w03).

## Why
A hit needs the blocks that the next token looks back at. In a window of one token, a token sees
only itself, so a hit would need no block at all. V1 caches just the blocks that a hit needs, and
here there are none. V0 did not allow prefix caching with a window.

## What to do
Nothing: the windows of models are wider. A test that needs a small window should use one of 2
tokens or more.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=12, sliding_window=1, retention_interval=None)
    engine.add("a", range(12), max_tokens=1)
    engine.step()
    engine.add("b", range(13))
    computed = engine.step()
    return Scene(engine.run, computed=computed, table_of_b=engine.table("b"))


ANSWER = {"computed": {"b": 13}, "table_of_b": [3, 2, 1, 4]}
