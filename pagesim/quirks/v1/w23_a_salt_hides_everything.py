"""# w23 A salt in the first block hides the whole prompt

V1 · prefix caching

A `cache_salt` goes into the hash of the first block only, and yet it separates all blocks of the
prompt.

## Expected
Only the first block is private: the later ones are hashed without the salt.

## What happens
`a` and `b` have the same 9 tokens and the same salt: `b` finds 8 of them. `c` has the same tokens
without a salt, `d` has them with another one, and both compute all 9.

## Why
The hash of a block includes the hash of the block before it. If the first one differs, all of them
do. V0 has no salt.

## What to do
Give the same salt to all requests that may share, such as those of one customer. A salt for each
request switches prefix caching off. With a salt for each customer, a system prompt is computed and
stored once for each.

## Threads
* [vllm#17045](https://github.com/vllm-project/vllm/pull/17045): the salt: without it, the time to
  the first token tells what others have asked.
* [vllm#52655](https://github.com/vllm-project/vllm/pull/52655): customers who share a long system
  prompt must choose between isolation and reuse; a proposal for salts by range.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1")
    engine.add("a", range(9), cache_salt="x")
    engine.step()
    engine.add("b", range(9), cache_salt="x")
    engine.add("c", range(9))
    engine.add("d", range(9), cache_salt="y")
    return Scene(engine.run, computed=engine.step())


ANSWER = {"computed": {"a": 1, "b": 1, "c": 9, "d": 9}}
