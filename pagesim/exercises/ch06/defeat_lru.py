"""# 6.4 Defeat LRU ★★★

To evict the least recently used block is a good rule, but some streams of prompts defeat it. Find
one. Write

```python
def one_round(num_blocks, block_size):
    return prompts
```

`one_round` returns a list of prompts, each a list of ints. With prefix caching on, these prompts
arrive and leave one after the other. Then the same prompts come again, for 3 rounds in all. Two
things must happen:

* In a pool of `num_blocks` blocks, **no** block is ever found in the cache.
* In a pool of `num_blocks + 1` blocks, **every** full block is found, from the second round on.

A prompt has at most `num_blocks * block_size` tokens, and a round has at most `4 * num_blocks`
prompts.

Example: with 1 block of 2 tokens, `[[1, 1], [2, 2]]` is right. Each prompt evicts the other one. In
a pool of 2 blocks, the two prompts stay cached.

## Hints
1. The block whose last use is longest ago is evicted. When is this exactly the block that is needed
   next?
2. Let the prompts come in a cycle that needs one block more than the pool has.
3. Use `num_blocks + 1` prompts, all different, of one full block each.

## Wrong answers
* as_many_as_blocks (one block): A full pool always evicts what is needed next.
* two_too_many (one block): The more prompts, the better.
* one_prompt (one block): Whether a block is found does not depend on its tokens.
* never_full (one block): A block that is not full is evicted at once.
* a_common_beginning (more blocks): Prompts may begin alike, because the end of a chain is evicted
  first.

## vLLM
* vllm/core/evictor.py: LRUEvictor.evict
* vllm/core/block/prefix_caching_block.py: PrefixCachingBlockAllocator.allocate_immutable_block
"""

from pagesim.exercises.ch06.prompts import Prompts, fault_of, served
from pagesim.exercises.kit import (
    Case,
    Cases,
    Compared,
    Goal,
    Random,
    Timeline,
    Value,
    compare,
    counted,
)


def one_round(num_blocks: int, block_size: int) -> list[list[int]]:
    """Prompts that are never found with `num_blocks` blocks, and always with one more."""
    ### BEGIN SOLUTION
    return [[number] * block_size for number in range(num_blocks + 1)]
    ### as_many_as_blocks: return [[number] * block_size for number in range(num_blocks)]
    ### two_too_many: return [[number] * block_size for number in range(num_blocks + 2)]
    ### one_prompt: return [[0] * block_size for number in range(num_blocks + 1)]
    ### never_full: return [[number] * max(1, block_size - 1) for number in range(num_blocks + 1)]
    ### a_common_beginning: same = [0] * (num_blocks // 2 * block_size)
    ### a_common_beginning: return [[*same, *[n] * block_size] for n in range(num_blocks + 1)]
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """One block, then more."""
    for num_blocks, block_size in ((3, 3), (5, 4), (9, 2)) if hidden else ((1, 2), (2, 2), (8, 4)):
        yield Case((num_blocks, block_size), tag="one block" if num_blocks == 1 else "more blocks")


def oracle(num_blocks: int, block_size: int) -> Goal:
    """Any round that defeats the cache."""
    one = counted(num_blocks, "block")
    return Goal([[0]], f"no hit with {one}, only hits with {num_blocks + 1}")


def why(yours: Value, num_blocks: int, block_size: int) -> str:
    if not isinstance(yours, list) or not 1 <= len(yours) <= 4 * num_blocks:
        return f"A round is a list of 1 to {4 * num_blocks} prompts."
    if problem := fault_of(yours, num_blocks * block_size):
        return problem
    small, large = (hits(yours, num_blocks + more, block_size) for more in (0, 1))
    lookups = sum(len(prompt) // block_size for prompt in yours)
    if not lookups:
        return "No prompt has a full block, so nothing is ever looked up."
    of_all = f"of {counted(lookups, 'full block')}"
    for number, found in enumerate(small, 1):
        if found:
            pool = f"In round {number}, with {counted(num_blocks, 'block')}"
            return f"{pool}, the cache finds {found} {of_all}. It must find none."
    for number, found in enumerate(large[1:], 2):
        if found < lookups:
            pool = f"In round {number}, with {num_blocks + 1} blocks"
            return f"{pool}, the cache finds only {found} {of_all}. It must find all."
    return ""


def hits(prompts: Prompts, num_blocks: int, block_size: int) -> list[int]:
    """Blocks found in each of three rounds."""
    found, _ = served(prompts * 3, num_blocks, block_size, record=False)
    return [sum(map(len, found[i : i + len(prompts)])) for i in range(0, len(found), len(prompts))]


def play(num_blocks: int, block_size: int) -> Timeline:
    prompts = [[number] * block_size for number in range(num_blocks)]
    _, story = served(prompts * 2, num_blocks, block_size)
    return story.run.annotate(title="As many prompts as blocks: all are found again")


def replay(yours: Prompts, num_blocks: int, block_size: int) -> Compared:
    """The rounds of the answer in both pools."""
    small, large = (served(yours * 3, num_blocks + more, block_size)[1].run for more in (0, 1))
    title = f"Your rounds with {counted(num_blocks, 'block')}"
    return compare(small, large, (title, f"Your rounds with {num_blocks + 1} blocks"))
