"""# g26 Pages that do not divide

V1 · sizing

If the layers of one kind need half the bytes, they get twice the tokens; if they need two thirds, a
third of their memory stays empty.

## Expected
Layers with smaller keys simply take less memory.

## What happens
Full attention needs half the bytes of a window layer per token: its blocks get 32 tokens in place
of 16. Nothing is wasted, but hits end only at multiples of 32. If it needs two thirds, its blocks
keep 16 tokens, and the 32,768 bytes of a block in one layer take 49,152.

## Why
A block is used by one group now and by another one later, so its bytes in one layer (vLLM calls
them a page) must be as many in all layers. vLLM puts more tokens into the smaller page if the
larger one is a multiple of it. Otherwise it pads the smaller one.

## What to do
Nothing for a given model, but know it: `pagesim size` prints padded pages and where hits end.

## Threads
* [vllm-ascend#16270](https://github.com/vllm-project/vllm-ascend/issues/16270): blocks of up to
  4,096 tokens in some groups, and no hits for shorter prompts.
"""

from pagesim.quirks.scene import Scene
from pagesim.sizing.kv_cache_groups import get_kv_cache_groups
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, SlidingWindowSpec


def scenario() -> Scene:
    found = []
    for heads, size, window_heads, window_size in ((4, 512, 16, 256), (4, 128, 6, 128)):
        window = SlidingWindowSpec(16, window_heads, window_size, sliding_window=1024)
        layers = {"full": FullAttentionSpec(16, heads, size), "window": window}
        full = get_kv_cache_groups(layers)[0].kv_cache_spec
        needed = full.block_size * 2 * heads * size * 2  # keys and values of two bytes each
        page = full.page_size_bytes
        found.append({"tokens of a block": full.block_size, "page": page, "used": needed})
    return Scene(half_the_bytes=found[0], two_thirds_of_the_bytes=found[1])


ANSWER = {
    "half_the_bytes": {"tokens of a block": 32, "page": 262144, "used": 262144},
    "two_thirds_of_the_bytes": {"tokens of a block": 16, "page": 49152, "used": 32768},
}
