"""# 11.1 A hit that all groups agree on ★★

A prompt arrives, and each KV cache group has some of its full blocks. A hit ends where every group
has what it needs. How many tokens are found? Write

```python
def hit_of_all(num_tokens, groups, block_size):
    return tokens
```

`num_tokens` is the length of the prompt. `groups` has a pair `(window, cached)` for each group:

* `window` is the number of tokens that a token sees in the layers of this group, itself included.
  It is at least 2, or None for full attention.
* `cached` says for each full block of the prompt, from the first to the last, whether this group
  has it.

A hit consists of whole blocks, and at least one token of the prompt is left to compute. Full
attention needs all blocks of the hit. A window needs only those blocks before the end of the hit
that have tokens which the next token sees.

Example: `hit_of_all(13, [(None, [True, True, True]), (9, [False, True, True])], 4)` is 12. The next
token is at position 12 and sees positions 4 to 12, so the window needs blocks 1 and 2. If the
window has `[True, False, True]` instead, the hit is 4: after 4 tokens, block 0 is all that there is
to see.

## Hints
1. Suppose a hit ends after `hit` blocks. Which blocks must a window of 9 tokens have, if a block
   has 4? And if `hit` is 1?
2. A window needs the last `ceil((window - 1) / block_size)` blocks of the hit, or all of them if
   the hit has fewer. Ask one group after the other, and make the hit shorter until the group has
   what it needs. Then ask them all again: what was enough for a window before may not be enough
   now.
3. Begin with `hit = (num_tokens - 1) // block_size`. A group agrees if
   `all(cached[max(hit - need, 0) : hit])`, where `need` is `len(cached)` for full attention. Stop
   after a round in which `hit` has stayed the same.

## Wrong answers
* all_of_it (all of it is cached): What is cached need not be computed.
* like_full_attention (the beginning is forgotten): A window needs all blocks of the hit.
* its_own_token_too (a window of whole blocks and a token): A token sees a window of tokens before
  itself.
* always_a_whole_window (a hit shorter than the window): A hit ends only where a whole window lies
  before it.
* each_on_its_own (two groups): The hit is the shortest of the hits that the groups have alone.
* one_round (two windows): When every group has been asked once, all agree.

## vLLM 0.33.0
* vllm/v1/core/kv_cache_coordinator.py: HybridKVCacheCoordinator.find_longest_cache_hit
* vllm/v1/core/single_type_kv_cache_manager.py: SlidingWindowManager.find_longest_cache_hit
"""

from pagesim.exercises.kit import Case, Cases, Random, Timeline, counted, recorded
from pagesim.v1 import FullAttentionSpec, KVCacheManager, Request, SlidingWindowSpec

Groups = list[tuple[int | None, list[bool]]]


def hit_of_all(
    num_tokens: int, groups: list[tuple[int | None, list[bool]]], block_size: int
) -> int:
    """How many tokens are found; groups: (window or None, which full blocks are cached)."""
    ### BEGIN SOLUTION
    hit, before = (num_tokens - 1) // block_size, -1
    ### all_of_it: hit, before = num_tokens // block_size, -1
    while hit != before:
        ### one_round: if hit != before:
        before = hit
        for window, cached in groups:
            need = -(-((window or num_tokens) - 1) // block_size)
            ### like_full_attention: need = len(cached)
            ### its_own_token_too: need = -(-(window or num_tokens) // block_size)
            while not all(cached[max(hit - need, 0) : hit]):
                hit -= 1
                ### always_a_whole_window: hit = hit - 1 if hit > need or not window else 0
    return hit * block_size
    ### END SOLUTION


def each_on_its_own(num_tokens: int, groups: Groups, block_size: int) -> int:
    return min(hit_of_all(num_tokens, [group], block_size) for group in groups)


def cases(rng: Random, hidden: bool) -> Cases:
    """One group, then two, then the example of the chapter, then many."""
    b = 3 if hidden else 2
    full, two, three = None, 2 * b, 2 * b + 2
    for tokens, window, marks, tag in (
        (b + 1, full, "0", "nothing is cached"),
        (b + 1, full, "1", "one block is cached"),
        (2 * b, full, "11", "all of it is cached"),
        (3 * b + 1, full, "101", "a hole"),
        (3 * b + 1, two, "011", "the beginning is forgotten"),
        (3 * b + 1, two, "001", "too few in a row"),
        (3 * b + 1, two + 1, "011", "a window of whole blocks and a token"),
        (3 * b + 1, three, "100", "a hit shorter than the window"),
    ):
        yield Case((tokens, [group(window, marks)], b), tag=tag)
    for marks, other in (("111", "011"), ("110", "011"), ("011", "111"), ("111", "101")):
        yield Case((3 * b + 1, [group(full, marks), group(two, other)], b), tag="two groups")
    for marks, other in (("1011", "1110"), ("10110", "11011"), ("101110", "110110")):
        windows = [group(two, marks), group(three, other)]
        yield Case((len(marks) * b + 1, windows, b), tag="two windows")
    chapter = [group(full, "111111"), group(9, "101110"), group(13, "111011")]
    yield Case((25, chapter, 4), tag="two windows")
    for _ in range(25):
        b, blocks = rng.choice((3, 4)), rng.randint(3, 8)
        many = []
        for _ in range(rng.randint(2, 4)):
            marks = "".join(rng.choice("01111") for _ in range(blocks))
            many.append(group(rng.choice((None, 2, b, b + 1, 2 * b + 1, 3 * b)), marks))
        yield Case((blocks * b + rng.randrange(b), many, b), tag="many")


def group(window: int | None, marks: str) -> tuple[int | None, list[bool]]:
    return window, [mark == "1" for mark in marks]


def words(num_tokens: int, groups: Groups, block_size: int) -> str:
    kinds = []
    for window, cached in groups:
        has = [str(block) for block, is_cached in enumerate(cached) if is_cached]
        blocks = f"block{'s' * (len(has) > 1)} {', '.join(has)}"
        kinds.append(f"{kind(window)} has {blocks if has else 'nothing'}")
    return f"{counted(num_tokens, 'token')}, blocks of {block_size}; {'; '.join(kinds)}"


def kind(window: int | None) -> str:
    return "full attention" if window is None else f"a window of {window}"


def oracle(
    num_tokens: int, groups: Groups, block_size: int, *, record: bool = True
) -> tuple[int, Timeline]:
    """What the manager finds for a prompt that has come and gone, and lost blocks of each group."""
    full, windowed = FullAttentionSpec, SlidingWindowSpec
    windows = [window for window, _ in groups]
    specs = [windowed(block_size, sliding_window=w) if w else full(block_size) for w in windows]
    num_blocks = 2 * len(groups) * (num_tokens // block_size + 1) + 1
    manager = KVCacheManager(num_blocks, groups=specs, retention_interval=None)
    names = ("first", "second")
    first, second = (Request(name, range(num_tokens), block_size=block_size) for name in names)
    manager.allocate_slots(first, num_tokens)
    tables = manager.get_block_ids("first")
    manager.free(first)
    for table, (_, cached) in zip(tables, groups, strict=True):
        pairs = zip(table, cached, strict=False)  # the last block may not be full
        manager.evict_blocks(block for block, is_cached in pairs if not is_cached)
    with recorded(manager) as run:
        hits, found, _ = manager.get_computed_blocks(second)
        manager.allocate_slots(second, num_tokens - found, found, hits)
    return found, run.annotate(title=f"Found: {found} of {counted(num_tokens, 'token')}")


def why(yours: int, right: int, num_tokens: int, groups: Groups, block_size: int) -> str:
    if yours % block_size or not 0 <= yours <= num_tokens:
        return "A hit consists of whole blocks of the prompt."
    if yours == num_tokens:
        return "At least one token must be computed. Otherwise there is nothing to sample from."
    for window, cached in groups if yours > right else ():
        missing = [block for block in needed(yours, window, block_size) if not cached[block]]
        if missing:
            what = f"needs {ids(needed(yours, window, block_size))} for a hit of {yours} tokens"
            return f"{kind(window).capitalize()} {what}, and block {missing[-1]} is not cached."
    needs = [
        f"{kind(window)} needs {ids(needed(right, window, block_size))}" for window, _ in groups
    ]
    return f"A hit of {right} tokens is possible: {', '.join(needs)}."


def needed(hit: int, window: int | None, block_size: int) -> range:
    """Which blocks a hit needs."""
    first = 0 if window is None else max(hit - window + 1, 0) // block_size
    return range(first, hit // block_size)


def ids(blocks: range) -> str:
    return f"block {blocks[0]}" if len(blocks) == 1 else f"blocks {blocks[0]} to {blocks[-1]}"
