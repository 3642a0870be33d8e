"""9.4: prompts that come again and again, and are never found."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pagesim.errors import NoFreeBlocksError
from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.pair import Compared, compare
from pagesim.timeline.run import Timeline
from pagesim.v0.block.interfaces import Device

ROUNDS = 3

STATEMENT = f"""
Least recently used is a good rule, and there is a stream that defeats it. Write

```python
def one_round(num_blocks, block_size):
    return prompts
```

a list of prompts, each a list of ints. They arrive and leave one after the other, and then the same
prompts again, {ROUNDS} rounds in all, with prefix caching. It must be so that

* in a pool of `num_blocks` blocks **no** block is ever found in the cache, and
* in a pool of `num_blocks + 1` blocks **every** full block is found from the second round on.

A prompt has at most `num_blocks * block_size` tokens, a round at most `4 * num_blocks` prompts.

Example: with 1 block of 2, `[[1, 1], [2, 2]]`: each prompt throws the other one out. With 2 blocks
both stay.
"""


def one_round(num_blocks: int, block_size: int) -> list[list[int]]:
    """Prompts that are never found with `num_blocks` blocks, and always with one more."""
    ### BEGIN SOLUTION
    return [[number] * block_size for number in range(num_blocks + 1)]
    ### END SOLUTION


def hits(prompts: list[list[int]], num_blocks: int, block_size: int) -> tuple[list[int], int]:
    """Blocks found in each round, and blocks looked up in one. NoFreeBlocksError if none fits."""
    story = Story(num_blocks, block_size=block_size, caching=True, record=False)
    lookups = sum(len(prompt) // block_size for prompt in prompts)
    totals = [0]
    for number in range(ROUNDS):
        _round(story, prompts, number)
        rate = story.manager.get_prefix_cache_hit_rate(Device.GPU)
        totals.append(round(rate * lookups * (number + 1)))
    return [after - before for before, after in pairwise(totals)], lookups


def _round(story: Story, prompts: list[list[int]], number: int) -> None:
    for place, prompt in enumerate(prompts):
        writer = story.arrive(prompt)
        now = float(number * len(prompts) + place + 1)
        story.manager.access_all_blocks_in_seq(writer.seq, now)
        story.manager.mark_blocks_as_computed(writer.group, len(prompt))
        writer.leave()


def fault(yours: Any, num_blocks: int, block_size: int) -> str:
    """What is wrong with a round; nothing if it defeats the cache."""
    if not isinstance(yours, list) or not 1 <= len(yours) <= 4 * num_blocks:
        return f"A round is a list of 1 to {4 * num_blocks} prompts."
    for prompt in yours:
        if not isinstance(prompt, list) or not 0 < len(prompt) <= num_blocks * block_size:
            return f"A prompt is a list of 1 to {num_blocks * block_size} ints."
        if any(type(token) is not int or not 0 <= token < 2**31 for token in prompt):
            return "A token is an int, and not negative."
    try:
        small, lookups = hits(yours, num_blocks, block_size)
        large, _ = hits(yours, num_blocks + 1, block_size)
    except NoFreeBlocksError:
        return "A prompt does not fit the pool."
    if not lookups:
        return "No prompt has a full block, so nothing is ever looked up."
    for number, found in enumerate(small):
        if found:
            pool = count(num_blocks, "block")
            return f"With {pool} {_hit(found, lookups)} in round {number + 1}."
    for number, found in enumerate(large[1:], 2):
        if found < lookups:
            return f"With {num_blocks + 1} blocks only {_hit(found, lookups)} in round {number}."
    return ""


def _hit(found: int, lookups: int) -> str:
    return f"{found} of {count(lookups, 'lookup')} hit"


def expected(num_blocks: int, block_size: int) -> Goal:
    return Goal(
        accepts=lambda yours: not fault(yours, num_blocks, block_size),
        like=[[0]],
        words=f"nothing found with {count(num_blocks, 'block')}, all with {num_blocks + 1}",
    )


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    for num_blocks, block_size in ((3, 3), (5, 4), (9, 2)) if hidden else ((1, 2), (2, 2), (8, 4)):
        yield Case((num_blocks, block_size), tag="one block" if num_blocks == 1 else "more blocks")


def why(case: Case, yours: Any, right: Any) -> str:
    return fault(yours, *case.args)


def play(case: Case) -> Timeline:
    """As many prompts as blocks: all of them are found again."""
    num_blocks, block_size = case.args
    story = Story(num_blocks, block_size=block_size, caching=True)
    prompts = [[number] * block_size for number in range(num_blocks)]
    for number in range(2):
        _round(story, prompts, number)
    return story.run.annotate(title="As many prompts as blocks: all are found again")


def replay(_: Any, case: Case, yours: list[list[int]]) -> Compared:
    """The rounds of the answer in both pools."""
    num_blocks, block_size = case.args
    stories = [Story(num_blocks + more, block_size=block_size, caching=True) for more in (0, 1)]
    for story in stories:
        for number in range(ROUNDS):
            _round(story, yours, number)
    titles = [f"Your rounds with {count(num_blocks + more, 'block')}" for more in (0, 1)]
    return compare(stories[0].run, stories[1].run, (titles[0], titles[1]))


EXERCISE = Exercise(
    number="9.4",
    title="Defeat LRU",
    stars=3,
    statement=STATEMENT,
    reference=one_round,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "as_many_as_blocks": Wrong(
            variant(one_round, "num_blocks + 1", "num_blocks"),
            "A full pool throws out what comes next.",
            "one block",
        ),
        "two_too_many": Wrong(
            variant(one_round, "num_blocks + 1", "num_blocks + 2"),
            "The more prompts, the better.",
            "one block",
        ),
        "one_prompt": Wrong(
            variant(one_round, "[number] * block_size for", "[0] * block_size for"),
            "Whether a prompt is found does not depend on its tokens.",
            "one block",
        ),
        "never_full": Wrong(
            variant(one_round, "[number] * block_size", "[number] * max(1, block_size - 1)"),
            "What is not full is thrown out at once.",
            "one block",
        ),
        "a_common_beginning": Wrong(
            variant(
                one_round,
                "[number] * block_size",
                "[0] * (num_blocks // 2 * block_size) + [number] * block_size",
            ),
            "Prompts may begin alike, for the evictor eats chains from their ends.",
            "more blocks",
        ),
    },
    hints=(
        "What was used longest ago is thrown out. When would that be just what comes next?",
        "Let the prompts go round in a circle that is one block larger than the pool.",
        "num_blocks + 1 prompts of one full block each, all different.",
    ),
    vllm=(
        "vllm/core/evictor.py: LRUEvictor.evict",
        "vllm/core/block/prefix_caching_block.py: PrefixCachingBlockAllocator."
        "allocate_immutable_block",
    ),
    play=play,
    replay=replay,
)
