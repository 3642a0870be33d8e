"""# 6.3 The best pair of prompts ★★

One prompt is computed. While its blocks are still in the pool, a second prompt arrives. The pool
has `num_blocks` blocks of `block_size` tokens, and it must have room for both prompts. Choose the
prompts so that the *fraction* of the second prompt that must be computed is as small as possible:

```python
def best_pair(num_blocks, block_size):
    return first, second
```

Both prompts are lists of ints. In the simulator, they arrive with prefix caching on. Then
`get_common_computed_block_ids` says which blocks of the second prompt need not be computed. You
need two rules of vLLM 0.6.4:

* Only full blocks are found.
* The *last* block of a prompt is always computed, found or not, because the first token of the
  output comes from the last token of the prompt.

Example, with 2 blocks of 4: for `[1, 2, 3, 4]` and `[1, 2, 3, 4, 5, 6]`, 4 of 6 tokens need not be
computed. You can do better.

Your pair is right if no other pair of prompts has a smaller fraction.

## Hints
1. All of the second prompt but its last block may be found. What should be in the last block?
2. Put as much as possible before the last block, and as little as possible into it.
3. Let `first` fill all blocks but one. Let `second` be `first` and one more token.

## Wrong answers
* the_same_twice (small): The same prompt again is best, because everything is found.
* partial_blocks_count (small): A block that is not full is found, too.
* one_token_more (small): Two prompts that share their blocks always fit.
* a_block_of_its_own (small): The second prompt should fill its last block.
* too_short (larger): Some blocks of the pool should stay free.

## vLLM
* vllm/core/block_manager.py: SelfAttnBlockSpaceManager.get_common_computed_block_ids
* vllm/core/block/prefix_caching_block.py:
  ComputedBlocksTracker.get_cached_computed_blocks_and_update
"""

from contextlib import suppress
from functools import cache
from itertools import product

from pagesim.errors import NoFreeBlocksError
from pagesim.exercises.ch06.prompts import Prompts, fault_of
from pagesim.exercises.kit import Case, Cases, Goal, Random, Story, Timeline, Value, counted


def best_pair(num_blocks: int, block_size: int) -> tuple[list[int], list[int]]:
    """Two prompts that fit `num_blocks` blocks together, the second one computed best."""
    ### BEGIN SOLUTION
    first = list(range((num_blocks - 1) * block_size))
    ### one_token_more: first = list(range(num_blocks * block_size))
    ### too_short: first = list(range(max(1, num_blocks - 2) * block_size))
    return first, [*first, len(first)]
    ### the_same_twice: first += range(1000, 1000 + block_size); return first, list(first)
    ### a_block_of_its_own: return first, [*first, *range(1000, 1000 + block_size)]
    ### partial_blocks_count: return first[:-1], first[:-1]
    ### END SOLUTION


def cases(rng: Random, hidden: bool) -> Cases:
    """A small pool, then larger ones."""
    for num_blocks, block_size in ((3, 3), (7, 2), (5, 4)) if hidden else ((2, 2), (4, 4), (8, 4)):
        yield Case((num_blocks, block_size), tag="small" if num_blocks == 2 else "larger")


def both(two: Prompts, num_blocks: int, block_size: int, record: bool = False) -> tuple[int, Story]:
    """How many tokens of the second prompt need not be computed; NoFreeBlocksError without room."""
    story = Story(num_blocks, block_size=block_size, caching=True, record=record)
    first = story.arrive(two[0])
    story.manager.mark_blocks_as_computed(first.group, len(two[0]))
    second = story.arrive(two[1])
    return block_size * len(story.manager.get_common_computed_block_ids([second.seq])), story


@cache
def best(num_blocks: int, block_size: int) -> tuple[int, int]:
    """Tokens saved and tokens in all, of the best second prompt: by trying all pairs of lengths."""
    lengths = range(1, num_blocks * block_size + 1)
    winner = (0, 1)
    for length, other in product(lengths, lengths):
        with suppress(NoFreeBlocksError):
            found, _ = both([[*range(length)], [*range(other)]], num_blocks, block_size)
            if found * winner[1] > winner[0] * other:
                winner = found, other
    return winner


def oracle(num_blocks: int, block_size: int) -> Goal:
    """Any two prompts that reach the best part."""
    found, length = best(num_blocks, block_size)
    return Goal(([0], [0]), f"a second prompt of which {found / length:.1%} need not be computed")


def why(yours: Value, num_blocks: int, block_size: int) -> str:
    if not (isinstance(yours, list) and len(yours) == 2):
        return "Return two prompts."
    if problem := fault_of(yours, num_blocks * block_size):
        return problem
    try:
        found, _ = both(yours, num_blocks, block_size)
    except NoFreeBlocksError:
        return f"The two prompts together do not fit into {num_blocks} blocks."
    most, length = best(num_blocks, block_size)
    if found * length >= most * len(yours[1]):
        return ""
    rest = counted(length - most, "token")
    can_be = f"With a better pair it is {most} of {length}, so that only {rest} must be computed"
    tokens = f"Of {counted(len(yours[1]), 'token')} in your second prompt"
    return f"{tokens}, {found} need not be computed. {can_be}."


def play(num_blocks: int, block_size: int) -> Timeline:
    prompt = list(range(num_blocks * block_size))
    title = "The same prompt twice: every block is found, but the last one is computed again"
    return replay([prompt, prompt], num_blocks, block_size).annotate(title=title)


def replay(yours: Prompts, num_blocks: int, block_size: int) -> Timeline:
    _, story = both(yours, num_blocks, block_size, record=True)
    return story.run.annotate(title="Your two prompts")
