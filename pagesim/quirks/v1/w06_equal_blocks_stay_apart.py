"""# w06 Equal blocks are never merged

V1 · prefix caching

Two requests that grow into the same text keep two copies of it.

## Expected
When a block becomes full and an equal one is cached already, the second copy is given back.

## What happens
Two prompts of 6 tokens share block 1. Their second blocks, 2 and 3, are not full, so each has its
own. Both now write the same three tokens. Blocks 2 and 3 hold the same text, both are cached, and
both stay. A third request with this text is given block 2.

## Why
A table of V1 only grows at its end. No entry is ever replaced, because the workers have copies of
the tables and are told only what is appended. V0 does replace the entry: the second block is freed,
and the table names the first one.

## What to do
Nothing. If you count how much text is cached, count distinct hashes, not blocks. A router that
follows the cache's events has to count the copies (w30).

## Threads
* [vllm#9668](https://github.com/vllm-project/vllm/pull/9668): the design, which leaves copies
  alone.
* [vllm#48933](https://github.com/vllm-project/vllm/pull/48933): a proposal to tell routers how many
  copies remain, for this reason.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Story


def scenario() -> Scene:
    story = Story(gpu_blocks=12, engine="v1", caching=True)
    a = story.arrive("the cat sat on the mat", "a")
    b = story.arrive("the cat sat on the mat", "b")
    for word in ("and", "purred", "loudly"):
        a.write(word)
        b.write(word)
    c = story.arrive("the cat sat on the mat and purred loudly", "c")
    tables = {"a": a.block_ids, "b": b.block_ids, "c": c.block_ids}
    return Scene(story.run, tables=tables, found_by_c=c.num_cached_tokens)


ANSWER = {"tables": {"a": [1, 2, 4], "b": [1, 3, 5], "c": [1, 2, 6]}, "found_by_c": 8}
