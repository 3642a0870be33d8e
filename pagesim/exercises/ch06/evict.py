"""# 6.2 Which block is evicted ★★

No block is free, and some cached ones wait in the evictor, without an owner. Which one is evicted?
Write

```python
def evict(cached):
    return block
```

`cached` lists the waiting blocks in the order in which they came to the evictor, as
`(block, tokens, last_used)`: the id, how many tokens there are from the beginning of the prompt to
the end of this block, and the time of its last use.

vLLM 0.6.4 means to evict the least recently used block, and of equally old ones the one with the
longest prefix, since a chain is useful only from its beginning. This is what it does:

* it goes through the list once, and keeps a candidate, at first the first one;
* it **stops** at the first block that was used later than the candidate;
* until then a block with more tokens than the candidate takes its place.

Example: `evict([(5, 4, 1.0), (2, 8, 1.0), (7, 12, 3.0)])` is `2`: block 7 was used later, and of
the two before it block 2 ends the longer prefix.

## Hints
1. Do what the three points say, in their order. A loop over cached[1:] is enough.
2. Keep three things of the candidate: its id, its tokens and its time.
3. For each of the others: if used > last_used, break; if length > tokens, it becomes the candidate.

## Wrong answers
* no_tie_break (equally old): Equally old blocks go in the order in which they came.
* longest_prefix (a longer prefix, used later): The block with the longest prefix goes, however
  recently it was used.
* really_lru (an older one came later): LRU means that the oldest block of all goes.
* shortest_prefix (equally old): The beginning of a chain goes first.
* most_recent (one is older): The block that was used last goes.

## vLLM
* vllm/core/evictor.py: LRUEvictor.evict
* vllm/core/block/prefix_caching_block.py:
  PrefixCachingBlockAllocator._maybe_allocate_evicted_block_id
"""

from itertools import permutations

from pagesim.exercises.kit import Case, Cases, Random, Story, Timeline
from pagesim.v0.evictor import LRUEvictor

Cached = list[tuple[int, int, float]]


def evict(cached: list[tuple[int, int, float]]) -> int:
    """The block that gives way; `cached` has (block, tokens, last_used) in the order of arrival."""
    ### BEGIN SOLUTION
    block, tokens, last_used = cached[0]
    for other, length, used in cached[1:]:
        if used > last_used:
            ### longest_prefix: if False:
            break
        if length > tokens:
            ### no_tie_break: if used < last_used:
            ### shortest_prefix: if length < tokens:
            block, tokens, last_used = other, length, used
    return block
    ### really_lru: return min(cached, key=lambda each: (each[2], -each[1]))[0]
    ### most_recent: return max(cached, key=lambda each: (each[2], each[1]))[0]
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """A few small ones, then all orders of four blocks."""
    shown: tuple[tuple[Cached, str], ...] = (
        ([(3, 4, 1.0)], "one block"),
        ([(3, 4, 1.0), (0, 4, 2.0)], "one is older"),
        ([(3, 4, 1.0), (0, 8, 1.0)], "equally old"),
        ([(3, 8, 1.0), (0, 4, 1.0)], "equally old"),
        ([(3, 4, 1.0), (0, 12, 2.0)], "a longer prefix, used later"),
        ([(3, 4, 2.0), (0, 4, 1.0)], "an older one came later"),
    )
    for cached, tag in () if hidden else shown:
        yield Case((cached,), tag=tag)
    for _ in range(8 if hidden else 1):
        blocks = [(3, 4, 1.0), (0, 8, 1.0), (5, 4, 2.0), (2, 12, 2.0)]
        if hidden:
            ids = rng.sample(range(50), 4)
            blocks = [(each, 16 * rng.randint(1, 3), float(rng.randint(1, 3))) for each in ids]
        for order in permutations(blocks):
            yield Case((list(order),), tag=kind(list(order)))


def kind(cached: Cached) -> str:
    times = [last_used for _, _, last_used in cached]
    if times != sorted(times):
        return "an older one came later"
    if times[0] == times[1]:
        return "equally old"
    return "a longer prefix, used later" if cached[1][1] > cached[0][1] else "one is older"


def valid(cached: Cached) -> bool:
    return 0 < len(cached) == len({block for block, _, _ in cached})


def oracle(cached: Cached) -> int:
    """What the simulator's evictor gives up."""
    evictor = LRUEvictor()
    for block, tokens, last_used in cached:
        evictor.add(block, block, tokens, last_used)
    return evictor.evict()[0]


def why(yours: int, cached: Cached) -> str:
    if yours not in [block for block, _, _ in cached]:
        return "The answer is the id of one of these blocks."
    block, tokens, last_used = cached[0]
    for other, length, used in cached[1:]:
        if used > last_used:
            stops = f"Block {other} was used later than the candidate, block {block}: vLLM stops"
            return f"{stops} there." if yours == other else f"{stops}, and looks no further."
        ends = f"Block {other} ends a prefix of {length} tokens and"
        if length > tokens:
            if yours == block:
                place = f"block {other} takes its place, since a chain is eaten from its end"
                return f"{ends} block {block} one of {tokens}: {place}."
            block, tokens, last_used = other, length, used
        elif yours == other:
            place = f"older or not, block {other} does not take its place"
            return f"{ends} the candidate, block {block}, one of {tokens}: {place}."
    return f"vLLM comes to the end of the list with block {block} as the candidate."


def play() -> Timeline:
    """Two chains wait in the evictor, and a newcomer needs their blocks."""
    story = Story(gpu_blocks=4, block_size=4, caching=True)
    for first, now in ((0, 1.0), (20, 2.0)):
        writer = story.arrive(range(first, first + 8))
        story.manager.access_all_blocks_in_seq(writer.seq, now)
        writer.leave()
    story.arrive(range(40, 52))
    return story.run.annotate(title="Eviction: the older chain, and its end first")
