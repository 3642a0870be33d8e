"""# g13 A block with two keys

V1 · groups

A full block of 8 tokens is cached under the hash of 16 tokens, and also under the hash of 12.

## Expected
A block has one key: the hash of all tokens up to its end.

## What happens
The prompt has 13 tokens, so it ends inside the second block of full attention. Three more tokens
fill this block. It now has the key of 16 tokens, and beside it that of 12: the last multiple of 4
before the prompt's last token. The content of the block may be evicted from the cache while the
request still uses the block. When it is cached again, it has only the key of 12 tokens.

## Why
Hashes are computed for the smallest block size, 4 here. The extra key marks the end of the prompt,
for models whose hits may end inside a block. It is set whenever blocks are cached, even if the
block itself was cached before, so after an eviction only this key comes back.

## What to do
Nothing: no lookup of this model asks for the extra key. A tool that reads the pool or its events
must expect several keys for one block.

## Threads
None found.
"""

from pagesim.quirks.scene import Scene
from pagesim.story import Engine


def scenario() -> Scene:
    engine = Engine("v1", gpu_blocks=60, groups="full/8,window:5", retention_interval=None)
    request = engine.add("a", 13)
    engine.steps(4)  # the prompt, and three tokens of output
    manager = engine.scheduler.kv_cache_manager
    tokens = {key: 4 * count for count, key in enumerate(request.block_hashes, 1)}
    block = manager.get_blocks("a").blocks[0][1]
    others = manager.block_pool.cached_block_hashes_by_block[block.block_id]
    key, beside = tokens[block.block_hash], [tokens[other] for other in others]
    manager.evict_blocks([block.block_id])
    manager.cache_blocks(request, 16)
    again = tokens[block.block_hash]
    return Scene(engine.run, key_of_tokens=key, beside_it=beside, key_after_eviction=again)


ANSWER = {"key_of_tokens": 16, "beside_it": [12], "key_after_eviction": 12}
