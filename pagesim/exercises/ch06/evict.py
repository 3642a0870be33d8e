"""# 6.2 Which block is evicted ★★

No block is free, but some cached blocks without an owner wait in the evictor. One of them must go.
Which one? Write

```python
def evict(cached):
    return block
```

`cached` lists the waiting blocks in the order in which they came to the evictor. Each is a tuple
`(block, tokens, last_used)`: its id, the number of tokens from the beginning of the prompt to the
end of this block, and the time of its last use.

vLLM 0.6.4 wants to evict the least recently used block. Among equally old blocks, vLLM wants the
one with the longest prefix, because a chain is useful only from its beginning. What vLLM really
does is this:

* It goes through the list once and keeps a candidate, at first the first block.
* It **stops** at the first block that was used later than the candidate.
* Until then, a block with more tokens than the candidate becomes the new candidate.

Example: `evict([(5, 4, 1.0), (2, 8, 1.0), (7, 12, 3.0)])` is `2`. Block 7 was used later, so vLLM
stops there. Of the two blocks before it, block 2 has the longer prefix.

## Hints
1. Do what the three points say, in their order. A loop over `cached[1:]` is enough.
2. Remember three things about the candidate: its id, its tokens and its time.
3. For each of the other blocks: if `used > last_used`, break. If `length > tokens`, this block
   becomes the candidate.

## Wrong answers
* no_tie_break (equally old): Equally old blocks are evicted in the order in which they came.
* longest_prefix (a longer prefix, used later): The block with the longest prefix is evicted,
  however recently it was used.
* really_lru (an older one came later): Least recently used means that the oldest block of all is
  evicted.
* shortest_prefix (equally old): The beginning of a chain is evicted first.
* most_recent (one is older): The block that was used last is evicted.

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
    """The block to evict; `cached` has (block, tokens, last_used) in the order of arrival."""
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
        return "Return the id of one of these blocks."
    block, tokens, last_used = cached[0]
    for other, length, used in cached[1:]:
        if used > last_used:
            stops = f"Block {other} was used later than the candidate, block {block}. So vLLM stops"
            return f"{stops} there." if yours == other else f"{stops}, and looks no further."
        ends = f"Block {other} ends a prefix of {length} tokens, and"
        if length > tokens:
            if yours == block:
                place = f"block {other} becomes the candidate, since the end of a chain goes first"
                return f"{ends} block {block} one of {tokens}: {place}."
            block, tokens, last_used = other, length, used
        elif yours == other:
            place = f"older or not, block {other} does not become the candidate"
            return f"{ends} the candidate, block {block}, one of {tokens}: {place}."
    return f"vLLM reaches the end of the list, and the candidate is block {block}."


def play() -> Timeline:
    """Two chains wait in the evictor, and a new prompt needs their blocks."""
    story = Story(gpu_blocks=4, block_size=4, caching=True)
    for first, now in ((0, 1.0), (20, 2.0)):
        writer = story.arrive(range(first, first + 8))
        story.manager.access_all_blocks_in_seq(writer.seq, now)
        writer.leave()
    story.arrive(range(40, 52))
    return story.run.annotate(title="Eviction: the older chain goes, the end first")
