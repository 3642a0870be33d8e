"""11.2: how much of a prompt a hit may give."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline
from pagesim.v1 import KVCacheManager, Request

STATEMENT = """
A prompt arrives, and some of its full blocks are cached. How many of its tokens need not be
computed? Write

```python
def hit_tokens(num_tokens, cached, block_size):
    return tokens
```

`cached` says of each full block of the prompt, first to last, whether its content is cached.

Three rules: a hit consists of whole blocks; it is the longest run of cached blocks from the
**first** one on; and at least one token is left to compute, since the answer begins with what is
sampled from the prompt's last token.

Example: `hit_tokens(9, [True, True], 4)` is 8. `hit_tokens(8, [True, True], 4)` is 4: all blocks
are cached, and the second one is computed again all the same.
"""


def hit_tokens(num_tokens: int, cached: list[bool], block_size: int) -> int:
    """How many tokens a prompt finds computed; cached: which of its full blocks are cached."""
    ### BEGIN SOLUTION
    hits = 0
    for is_cached in cached[: (num_tokens - 1) // block_size]:
        if not is_cached:
            break
        hits += 1
    return hits * block_size
    ### END SOLUTION


def _manager(
    num_tokens: int, cached: list[bool], block_size: int
) -> tuple[KVCacheManager, Request]:
    """A manager with the first prompt come and gone, of which some blocks were evicted."""
    manager = KVCacheManager(len(cached) + 3, block_size, 10**6)
    request = Request("first", range(num_tokens), block_size=block_size)
    manager.allocate_slots(request, num_tokens)
    table = manager.get_block_ids("first")[0]
    manager.free(request)
    manager.evict_blocks(block for block, kept in zip(table, cached, strict=False) if not kept)
    return manager, Request("second", range(num_tokens), block_size=block_size)


def expected(num_tokens: int, cached: list[bool], block_size: int) -> int:
    """What the KV cache manager finds."""
    manager, request = _manager(num_tokens, cached, block_size)
    return manager.get_computed_blocks(request)[1]


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """All patterns of up to three blocks, with a rest and without."""
    block_size = 3 if hidden else 2
    for blocks in range(4):
        for cached in product((True, False), repeat=blocks):
            for rest in range(0 if blocks else 1, block_size):
                yield _case(blocks * block_size + rest, list(cached), block_size)
    for _ in range(20):
        size = rng.choice((1, 4, 5) if hidden else (1, 4, 8))
        pattern = [rng.random() < 0.8 for _ in range(rng.randint(1, 9))]
        yield _case(len(pattern) * size + rng.randrange(size), pattern, size)


def _case(num_tokens: int, cached: list[bool], block_size: int) -> Case:
    whole = num_tokens % block_size == 0
    if not cached:
        tag = "no full block"
    elif not any(cached):
        tag = "nothing is cached"
    elif all(cached):
        tag = "all of it is cached" if whole else "all full blocks are cached"
    else:
        tag = "a hole" if any(cached[cached.index(False) :]) else "the beginning is cached"
    marks = " ".join("cached" if each else "not" for each in cached) or "none"
    told = f"{count(num_tokens, 'token')}, blocks of {block_size}; full blocks: {marks}"
    return Case((num_tokens, cached, block_size), told, tag)


def why(case: Case, yours: Any, right: Any) -> str:
    num_tokens, cached, block_size = case.args
    if yours % block_size:
        return "A hit consists of whole blocks."
    if yours >= num_tokens:
        return "One token at least is computed: there is nothing to sample from otherwise."
    if yours > right:
        return "The hit ends at the first block that is not cached, whatever is behind it."
    if yours == right - block_size and all(cached):
        return "Only the block with the last token must be computed again, and it is not full here."
    return f"The first {count(right // block_size, 'block')} can be shared."


def play(case: Case) -> Timeline:
    """The prompt arrives for the second time."""
    num_tokens = case.args[0]
    manager, request = _manager(*case.args)
    with record(manager) as run:
        hits, found, _ = manager.get_computed_blocks(request)
        manager.allocate_slots(request, num_tokens - found, found, hits)
    return run.annotate(title=f"It finds {count(found, 'token')} of its {num_tokens}")


EXERCISE = Exercise(
    number="11.2",
    title="How much a hit gives",
    stars=1,
    statement=STATEMENT,
    reference=hit_tokens,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "all_of_it": Wrong(
            variant(hit_tokens, "cached[: (num_tokens - 1) // block_size]", "cached"),
            "What is cached need not be computed.",
            "all of it is cached",
        ),
        "never_the_last_block": Wrong(
            variant(hit_tokens, "cached[: (num_tokens - 1) // block_size]", "cached[:-1]"),
            "The last block is always computed again.",
            "all full blocks are cached",
        ),
        "one_token_less": Wrong(
            lambda num_tokens, cached, block_size: min(
                hit_tokens(10**9, cached, block_size), num_tokens - 1
            ),
            "All but the last token can be shared.",
            "all of it is cached",
        ),
        "holes_do_not_matter": Wrong(
            variant(hit_tokens, "            break\n", "            continue\n"),
            "Every cached block saves its tokens.",
            "a hole",
        ),
    },
    hints=(
        "Which block holds the last token, and can it be a part of the hit?",
        "At most (num_tokens - 1) // block_size blocks can be hits.",
        "Count the cached ones among the first (num_tokens - 1) // block_size, and stop at the "
        "first that is not.",
    ),
    vllm=(
        "vllm/v1/core/kv_cache_manager.py: KVCacheManager.get_computed_blocks",
        "vllm/v1/core/single_type_kv_cache_manager.py: FullAttentionManager.find_longest_cache_hit",
    ),
    release="0.33.0",
    play=play,
)
