"""# 9.3 What a hit saves ★

A prompt arrives, and some of its full blocks are cached. How many of its tokens need not be
computed? Write

```python
def hit_tokens(num_tokens, cached, block_size):
    return tokens
```

`num_tokens` is the length of the prompt. `cached` says for each full block of the prompt, from the
first to the last, whether its content is cached.

There are three rules:

* Only whole blocks are found.
* The blocks found are the longest run of cached blocks that begins with the **first** one.
* At least one token is left to compute, because the first token of the output is sampled from the
  last token of the prompt.

Example: `hit_tokens(9, [True, True], 4)` is 8. But `hit_tokens(8, [True, True], 4)` is 4: although
all blocks are cached, the second one is computed again.

## Hints
1. Which block holds the last token? Can this block be among the blocks that are found?
2. At most `(num_tokens - 1) // block_size` blocks can be hits.
3. Look at the first `(num_tokens - 1) // block_size` blocks. Count the cached ones, and stop at the
   first one that is not cached.

## Wrong answers
* all_of_it (all of it is cached): What is cached need not be computed.
* never_the_last_block (all full blocks are cached): The last block is always computed again.
* one_token_less (all of it is cached): All tokens but the last can be found.
* holes_do_not_matter (a hole): Every cached block spares the computation of its tokens.

## vLLM 0.33.0
* vllm/v1/core/kv_cache_manager.py: KVCacheManager.get_computed_blocks
* vllm/v1/core/single_type_kv_cache_manager.py: FullAttentionManager.find_longest_cache_hit
"""

from itertools import product

from pagesim.exercises.kit import Case, Cases, Random, Timeline, counted, recorded
from pagesim.v1 import KVCacheManager, Request


def hit_tokens(num_tokens: int, cached: list[bool], block_size: int) -> int:
    """How many tokens need not be computed; cached: which full blocks of the prompt are cached."""
    ### BEGIN SOLUTION
    hits = 0
    for is_cached in cached[: (num_tokens - 1) // block_size]:
        ### all_of_it: for is_cached in cached:
        ### never_the_last_block: for is_cached in cached[:-1]:
        if not is_cached:
            break
            ### holes_do_not_matter: continue
        hits += 1
    return hits * block_size
    ### one_token_less: return min([*cached, False].index(False) * block_size, num_tokens - 1)
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """All patterns of up to three blocks, with a rest and without; then longer ones."""
    block_size = 3 if hidden else 2
    for blocks in range(4):
        for cached in product((True, False), repeat=blocks):
            for rest in range(0 if blocks else 1, block_size):
                yield tagged(blocks * block_size + rest, list(cached), block_size)
    for _ in range(20):
        size = rng.choice((1, 4, 5) if hidden else (1, 4, 8))
        pattern = [rng.random() < 0.8 for _ in range(rng.randint(1, 9))]
        yield tagged(len(pattern) * size + rng.randrange(size), pattern, size)


def tagged(num_tokens: int, cached: list[bool], block_size: int) -> Case:
    tag = "nothing is cached" if cached else "no full block"
    if cached and all(cached):
        tag = "all full blocks are cached" if num_tokens % block_size else "all of it is cached"
    elif any(cached):
        tag = "a hole" if any(cached[cached.index(False) :]) else "the beginning is cached"
    marks = " ".join("cached" if each else "not" for each in cached) or "none"
    words = f"{counted(num_tokens, 'token')}, blocks of {block_size}; full blocks: {marks}"
    return Case((num_tokens, cached, block_size), words, tag)


def oracle(
    num_tokens: int, cached: list[bool], block_size: int, *, record: bool = True
) -> tuple[int, Timeline]:
    """What the manager finds for a prompt that has come and gone, and lost some of its blocks."""
    manager = KVCacheManager(len(cached) + 3, block_size, 10**6)
    names = ("first", "second")
    first, second = (Request(name, range(num_tokens), block_size=block_size) for name in names)
    manager.allocate_slots(first, num_tokens)
    table = manager.get_block_ids("first")[0]
    manager.free(first)
    manager.evict_blocks(block for block, kept in zip(table, cached, strict=False) if not kept)
    with recorded(manager) as run:
        hits, found, _ = manager.get_computed_blocks(second)
        manager.allocate_slots(second, num_tokens - found, found, hits)
    return found, run.annotate(title=f"Found: {found} of {counted(num_tokens, 'token')}")


def why(yours: int, right: int, num_tokens: int, cached: list[bool], block_size: int) -> str:
    if yours % block_size:
        return "Only whole blocks are found."
    if yours >= num_tokens:
        return "At least one token must be computed. Otherwise there is nothing to sample from."
    if yours > right:
        return "The hits end at the first block that is not cached, whatever is behind it."
    if yours == right - block_size and all(cached):
        return "Only the block with the last token must be computed, and here it is not full."
    return f"Here {counted(right // block_size, 'block')} can be found, from the first block on."
