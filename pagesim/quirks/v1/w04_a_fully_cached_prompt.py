"""# w04 A fully cached prompt is not free

V1 · prefix caching · beside q35

If a prompt consists of whole blocks and all of them are cached, its last block is computed again.

## Expected
Nothing of such a prompt is left to compute, or at most its last token.

## What happens
`a` leaves two cached blocks. `b` has exactly the same 8 tokens: it finds 4 of them, and computes
the other 4 into a block of its own, 3. `c` has one token more. It finds all 8 and computes 1, so
the longer prompt is the cheaper one.

## Why
The next token is sampled from what the model computes for the last one, so at least the last token
must be computed. A hit consists of whole blocks, so the whole last block is computed. Both copies
of it stay in the cache. V0 shares every block, but it charges the budget for the whole prompt:
there `b` and `c` need two steps (q35).

## What to do
Nothing: it costs one block of tokens for each request. Remember it when you measure a hit rate with
equal prompts of 512 or 1,024 tokens: it never reaches 100 %.

## Threads
* [vllm#11186](https://github.com/vllm-project/vllm/pull/11186): since then the whole block is
  computed again; one token alone had broken the chain of hashes.
* [vllm#9972](https://github.com/vllm-project/vllm/pull/9972): the two possibilities are discussed
  in the review.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=9, max_num_batched_tokens=12)
    engine.add("a", range(8), max_tokens=1)
    engine.step()
    engine.add("b", range(8))
    engine.add("c", range(9))
    computed = engine.step()
    tables = {name: engine.table(name) for name in "bc"}
    return Scene(engine.run, computed=computed, tables=tables)


ANSWER = {"computed": {"b": 4, "c": 1}, "tables": {"b": [1, 3], "c": [1, 2, 4]}}
