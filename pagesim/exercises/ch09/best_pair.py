"""9.3: two prompts, of which the second has as little as possible to compute."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pagesim.errors import NoFreeBlocksError
from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline

STATEMENT = """
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
"""


def best_pair(num_blocks: int, block_size: int) -> tuple[list[int], list[int]]:
    """Two prompts that fit `num_blocks` blocks together, the second one computed best."""
    ### BEGIN SOLUTION
    first = list(range((num_blocks - 1) * block_size))
    return first, [*first, len(first)]
    ### END SOLUTION


def _run(first: list[int], second: list[int], num_blocks: int, block_size: int) -> Story:
    story = Story(num_blocks, block_size=block_size, caching=True)
    writer = story.arrive(first)
    story.manager.mark_blocks_as_computed(writer.group, len(first))
    story.arrive(second)
    return story


def saved(first: list[int], second: list[int], num_blocks: int, block_size: int) -> int | None:
    """How many tokens of the second prompt need not be computed; None if the two do not fit."""
    story = Story(num_blocks, block_size=block_size, caching=True, record=False)
    try:
        writer = story.arrive(first)
        story.manager.mark_blocks_as_computed(writer.group, len(first))
        other = story.arrive(second)
    except NoFreeBlocksError:
        return None
    return block_size * len(story.manager.get_common_computed_block_ids([other.seq]))


@lru_cache(maxsize=64)
def _best(num_blocks: int, block_size: int) -> tuple[int, int]:
    """Tokens saved and tokens in all, of the best second prompt: by trying all pairs of lengths."""
    slots = num_blocks * block_size
    best = (0, 1)
    for length in range(1, slots + 1):
        for other in range(1, slots + 1):
            found = saved(list(range(length)), list(range(other)), num_blocks, block_size)
            if found is not None and found * best[1] > best[0] * other:
                best = found, other
    return best


def fault(yours: Any, num_blocks: int, block_size: int) -> str:
    """What is wrong with two prompts; nothing if none are better."""
    if not (isinstance(yours, list) and len(yours) == 2):
        return "The answer is two prompts."
    for prompt in yours:
        if not isinstance(prompt, list) or not 0 < len(prompt) <= num_blocks * block_size:
            return f"A prompt is a list of 1 to {num_blocks * block_size} ints."
        if any(type(token) is not int or not 0 <= token < 2**31 for token in prompt):
            return "A token is an int, and not negative."
    found = saved(yours[0], yours[1], num_blocks, block_size)
    if found is None:
        return f"The two prompts do not fit {num_blocks} blocks together."
    best, length = _best(num_blocks, block_size)
    if found * length < best * len(yours[1]):
        return (
            f"{found} of {count(len(yours[1]), 'token')} need not be computed. It can be {best} of "
            f"{length}: then {count(length - best, 'token')} must be computed."
        )
    return ""


def expected(num_blocks: int, block_size: int) -> Goal:
    best, length = _best(num_blocks, block_size)
    return Goal(
        accepts=lambda yours: not fault(yours, num_blocks, block_size),
        like=([0], [0]),
        words=f"a second prompt with {best / length:.1%} of its tokens computed already",
    )


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    for num_blocks, block_size in ((3, 3), (7, 2), (5, 4)) if hidden else ((2, 2), (4, 4), (8, 4)):
        yield Case((num_blocks, block_size), tag="small" if num_blocks == 2 else "larger")


def why(case: Case, yours: Any, right: Any) -> str:
    return fault(yours, *case.args)


def play(case: Case) -> Timeline:
    num_blocks, block_size = case.args
    prompt = list(range(num_blocks * block_size))
    title = "The same prompt twice: every block is found, and the last one is computed again"
    return _run(prompt, prompt, num_blocks, block_size).run.annotate(title=title)


def replay(_: Any, case: Case, yours: Any) -> Timeline:
    return _run(yours[0], yours[1], *case.args).run.annotate(title="Your two prompts")


def _partial(num_blocks: int, block_size: int) -> tuple[list[int], list[int]]:
    prompt = list(range((num_blocks - 1) * block_size - 1))
    return prompt, prompt


EXERCISE = Exercise(
    number="9.3",
    title="The best pair of prompts",
    stars=2,
    statement=STATEMENT,
    reference=best_pair,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "the_same_twice": Wrong(
            variant(
                best_pair,
                "return first, [*first, len(first)]",
                "first += range(1000, 1000 + block_size); return first, list(first)",
            ),
            "The same prompt again is the best one: everything is found.",
            "small",
        ),
        "partial_blocks_count": Wrong(
            _partial,
            "A block that is not full is found as well.",
            "small",
        ),
        "one_token_more": Wrong(
            variant(best_pair, "(num_blocks - 1) * block_size", "num_blocks * block_size"),
            "Two prompts that share their blocks always fit.",
            "small",
        ),
        "a_block_of_its_own": Wrong(
            variant(best_pair, "[*first, len(first)]", "[*first, *range(1000, 1000 + block_size)]"),
            "The second prompt should fill its last block.",
            "small",
        ),
        "too_short": Wrong(
            variant(best_pair, "(num_blocks - 1)", "max(1, num_blocks - 2)"),
            "Some blocks should be left free.",
            "larger",
        ),
    },
    hints=(
        "Everything but the second prompt's last block may be found. What should be in that block?",
        "As much as possible before it, as little as possible in it.",
        "first fills all blocks but one; second is first and one more token.",
    ),
    vllm=(
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.get_common_computed_block_ids",
        "vllm/core/block/prefix_caching_block.py: ComputedBlocksTracker."
        "get_cached_computed_blocks_and_update",
    ),
    play=play,
    replay=replay,
)
