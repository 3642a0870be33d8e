"""# 6.3 The best pair of prompts ★★

A prompt is computed. While it is still there, a second prompt arrives. Both must fit the pool.
Choose them so that the second one has the smallest *part* of its tokens to compute:

```python
def best_pair(num_blocks, block_size):
    return first, second
```

Both prompts are lists of ints. The simulator lets them arrive with prefix caching, and asks
`get_common_computed_block_ids` which blocks of the second need not be computed. Two rules of vLLM
0.6.4 matter: only full blocks are found, and the *last* block of a prompt is always computed, found
or not, since its last token gives the first token of the answer.

Example, with 2 blocks of 4: for `[1, 2, 3, 4]` and `[1, 2, 3, 4, 5, 6]` 4 of 6 tokens need not be
computed. It can be done better.

Right is the best part that any two prompts reach.

## Hints
1. Everything but the second prompt's last block may be found. What should be in that block?
2. As much as possible before it, as little as possible in it.
3. first fills all blocks but one; second is first and one more token.

## Wrong answers
* the_same_twice (small): The same prompt again is the best one: everything is found.
* partial_blocks_count (small): A block that is not full is found as well.
* one_token_more (small): Two prompts that share their blocks always fit.
* a_block_of_its_own (small): The second prompt should fill its last block.
* too_short (larger): Some blocks should be left free.

## vLLM
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.get_common_computed_block_ids
* vllm/core/block/prefix_caching_block.py:
  ComputedBlocksTracker.get_cached_computed_blocks_and_update
"""

from functools import cache
from itertools import product

from pagesim.errors import NoFreeBlocksError
from pagesim.exercises.ch06.prompts import fault_of
from pagesim.exercises.kit import Case, Cases, Goal, Random, Story, Timeline, count

Pair = tuple[list[int], list[int]]


def best_pair(num_blocks: int, block_size: int) -> tuple[list[int], list[int]]:
    """Two prompts that fit `num_blocks` blocks together, the second one computed best."""
    ### BEGIN SOLUTION
    first = list(range((num_blocks - 1) * block_size))
    ### one_token_more: first = list(range(num_blocks * block_size))
    ### too_short: first = list(range(max(1, num_blocks - 2) * block_size))
    return first, [*first, len(first)]
    ### the_same_twice: first += range(1000, 1000 + block_size); return first, list(first)
    ### a_block_of_its_own: return first, [*first, *range(1000, 1000 + block_size)]
    ### END SOLUTION


def partial_blocks_count(num_blocks: int, block_size: int) -> Pair:
    prompt = list(range((num_blocks - 1) * block_size - 1))
    return prompt, prompt


def cases(rng: Random, hidden: bool) -> Cases:
    """A small pool, then larger ones."""
    for num_blocks, block_size in ((3, 3), (7, 2), (5, 4)) if hidden else ((2, 2), (4, 4), (8, 4)):
        yield Case((num_blocks, block_size), tag="small" if num_blocks == 2 else "larger")


def both(pair: Pair, num_blocks: int, block_size: int, record: bool = False) -> tuple[int, Story]:
    """How many tokens of the second prompt need not be computed; NoFreeBlocksError without room."""
    story = Story(num_blocks, block_size=block_size, caching=True, record=record)
    first = story.arrive(pair[0])
    story.manager.mark_blocks_as_computed(first.group, len(pair[0]))
    second = story.arrive(pair[1])
    return block_size * len(story.manager.get_common_computed_block_ids([second.seq])), story


def saved(pair: Pair, num_blocks: int, block_size: int) -> int | None:
    try:
        return both(pair, num_blocks, block_size)[0]
    except NoFreeBlocksError:
        return None


@cache
def best(num_blocks: int, block_size: int) -> tuple[int, int]:
    """Tokens saved and tokens in all, of the best second prompt: by trying all pairs of lengths."""
    lengths = range(1, num_blocks * block_size + 1)
    winner = (0, 1)
    for length, other in product(lengths, lengths):
        found = saved(([*range(length)], [*range(other)]), num_blocks, block_size)
        if found is not None and found * winner[1] > winner[0] * other:
            winner = found, other
    return winner


def oracle(num_blocks: int, block_size: int) -> Goal:
    """Any two prompts that reach the best part."""
    found, length = best(num_blocks, block_size)
    part = f"a second prompt with {found / length:.1%} of its tokens computed already"
    return Goal(([0], [0]), part)


def why(yours: object, num_blocks: int, block_size: int) -> str:
    if not (isinstance(yours, list) and len(yours) == 2):
        return "The answer is two prompts."
    if problem := fault_of(yours, num_blocks * block_size):
        return problem
    found = saved((yours[0], yours[1]), num_blocks, block_size)
    if found is None:
        return f"The two prompts do not fit {num_blocks} blocks together."
    most, length = best(num_blocks, block_size)
    if found * length >= most * len(yours[1]):
        return ""
    tokens, rest = count(len(yours[1]), "token"), count(length - most, "token")
    can_be = f"It can be {most} of {length}: then {rest} must be computed"
    return f"{found} of {tokens} need not be computed. {can_be}."


def play(num_blocks: int, block_size: int) -> Timeline:
    prompt = list(range(num_blocks * block_size))
    title = "The same prompt twice: every block is found, and the last one is computed again"
    return replay((prompt, prompt), num_blocks, block_size).annotate(title=title)


def replay(yours: Pair, num_blocks: int, block_size: int) -> Timeline:
    _, story = both(yours, num_blocks, block_size, record=True)
    return story.run.annotate(title="Your two prompts")
