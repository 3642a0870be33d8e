"""9.6: find the bug in an evictor, with prompts that show it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, cast

from pagesim.errors import NoFreeBlocksError
from pagesim.exercises.ch09.faulty import CAUSES, FAULTY
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.goal import Goal
from pagesim.exercises.source import variant
from pagesim.exercises.values import plain
from pagesim.story import Story
from pagesim.timeline.pair import Compared, compare
from pagesim.timeline.run import Timeline
from pagesim.v0.block.content import PrefixCachingBlock
from pagesim.v0.block.interfaces import Device

MOST_PROMPTS, BLOCK_SIZE = 5, 2
_CHOICE = "\n".join(f'  * `"{name}"`: {words}' for name, words in CAUSES.items())

STATEMENT = f"""
Three evictors, `"A"`, `"B"` and `"C"`, are broken: each has one fault. Find it, and prove it with
prompts of which a broken cache finds other blocks than vLLM's:

```python
def show_fault(evictor, num_blocks):
    return prompts, cause
```

* `evictor`: which one; `num_blocks`: the blocks of the pool, at least 3, of {BLOCK_SIZE} tokens
  each;
* `prompts`: at most {MOST_PROMPTS} prompts, each a list of ints that fits the pool. They arrive one
  after the other, and each leaves before the next one comes;
* `cause`: one of
{_CHOICE}

To see which blocks of each prompt are found, by vLLM's cache and by a broken one:

```python
from pagesim.exercises.ch09.find_the_bug import found

prompts = [[1, 1, 2, 2], [3, 3], [1, 1, 2, 2]]
print(found(prompts, 3), found(prompts, 3, "A"))   # [[], [], [0, 1]] both times
```

The broken classes are in the package. Reading them tells you the cause, but no prompts that show
it.
"""


def show_fault(evictor: str, num_blocks: int) -> tuple[list[list[int]], str]:
    """At most five prompts that show the fault of the evictor "A", "B" or "C", and its cause."""
    ### BEGIN SOLUTION
    first = [1, 1]
    filler = list(range(100, 98 + 2 * num_blocks))  # all blocks but one
    if evictor == "A":  # one of two equally old blocks must go
        return [[*first, 2, 2], filler, [*first, 2, 2]], "heads"
    if evictor == "B":  # the filler was used later than the first prompt
        return [first, filler, [3, 3], first], "newest"
    return [first, filler, first, [3, 3], first], "lowest"  # block 0 is used again
    ### END SOLUTION


def _story(letter: str | None, num_blocks: int, *, record: bool) -> Story:
    story = Story(num_blocks, block_size=BLOCK_SIZE, caching=True, record=record)
    if letter is not None:
        gpu: Any = story.manager.block_allocator.allocator_on(Device.GPU)
        gpu.evictor = FAULTY[letter][0]()
    return story


def _serve(story: Story, prompts: list[list[int]]) -> list[list[int]]:
    places = []
    for number, prompt in enumerate(prompts):
        writer = story.arrive(prompt)
        blocks = story.manager.block_tables[writer.seq.seq_id].blocks
        hits = [place for place, block in enumerate(blocks) if _was_cached(block)]
        places.append(hits)
        story.manager.access_all_blocks_in_seq(writer.seq, float(number + 1))
        story.manager.mark_blocks_as_computed(writer.group, len(prompt))
        writer.leave()
    return places


def _was_cached(block: Any) -> bool:
    return cast(PrefixCachingBlock, block).computed


def found(prompts: list[list[int]], num_blocks: int, letter: str | None = None) -> list[list[int]]:
    """The places of the blocks that each prompt finds; by vLLM's evictor without a letter."""
    return _serve(_story(letter, num_blocks, record=False), prompts)


def fault(yours: Any, letter: str, num_blocks: int) -> str:
    """What is wrong with an answer; nothing if it shows the fault and names it."""
    if not (isinstance(yours, list) and len(yours) == 2 and isinstance(yours[0], list)):
        return "The answer is a list of prompts and a cause."
    prompts, cause = yours
    if not 1 <= len(prompts) <= MOST_PROMPTS:
        return f"One to {MOST_PROMPTS} prompts are enough, not {len(prompts)}."
    for prompt in prompts:
        if not isinstance(prompt, list) or not 0 < len(prompt) <= BLOCK_SIZE * num_blocks:
            return f"A prompt is a list of 1 to {BLOCK_SIZE * num_blocks} ints."
        if any(type(token) is not int or not 0 <= token < 2**31 for token in prompt):
            return "A token is an int, and not negative."
    try:
        vllm, broken = found(prompts, num_blocks), found(prompts, num_blocks, letter)
    except NoFreeBlocksError:
        return "A prompt does not fit the pool."
    if vllm == broken:
        return f"Both caches find {vllm}: these prompts do not show the fault."
    if cause not in list(CAUSES):
        return f"The cause is one of {', '.join(CAUSES)}."
    if cause != FAULTY[letter][1]:
        return f"vLLM's cache finds {vllm}, {letter} {broken}. But the cause is another one."
    return ""


def expected(letter: str, num_blocks: int) -> Goal:
    return Goal(
        accepts=lambda yours: not fault(yours, letter, num_blocks),
        like=([[0]], "cause"),
        words=f"up to {MOST_PROMPTS} prompts of which {letter} finds other blocks, and why",
    )


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    for letter in FAULTY:
        for num_blocks in (rng.randint(6, 12),) if hidden else (3, 5):
            yield Case((letter, num_blocks), f"evictor {letter}, {num_blocks} blocks", letter)


def why(case: Case, yours: Any, right: Any) -> str:
    return fault(plain(yours), *case.args)


def play(case: Case) -> Timeline:
    """The broken evictor at work: two prompts wait, and a third one needs their blocks."""
    letter, num_blocks = case.args
    story = _story(letter, num_blocks, record=True)
    filler = list(range(100, 100 + BLOCK_SIZE * (num_blocks - 2)))
    _serve(story, [[1, 1, 2, 2], filler, [3, 3]])
    return story.run.annotate(title=f"Evictor {letter}: two prompts wait, a third one comes")


def replay(_: Any, case: Case, yours: Any) -> Compared:
    """The prompts of the answer, with vLLM's evictor and with the broken one."""
    letter, num_blocks = case.args
    both = [_story(name, num_blocks, record=True) for name in (None, letter)]
    for story in both:
        _serve(story, yours[0])
    return compare(both[0].run, both[1].run, ("Your prompts in vLLM", f"with {letter}"))


EXERCISE = Exercise(
    number="9.6",
    title="Find the bug: three evictors",
    stars=3,
    statement=STATEMENT,
    reference=show_fault,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "enough_room": Wrong(
            variant(
                show_fault, "filler = list(range(100, 98 + 2 * num_blocks))", "filler = [9, 9]"
            ),
            "A prompt that comes back shows what a cache is worth.",
            "A",
        ),
        "symptom": Wrong(
            variant(show_fault, '"heads"', '"kept"'),
            "A block that is found behind a missing one was kept by mistake.",
            "A",
        ),
        "not_asked_again": Wrong(
            variant(show_fault, "filler, [3, 3], first]", "filler, [3, 3]]"),
            "That the wrong block went shows at once.",
            "B",
        ),
        "used_once": Wrong(
            variant(
                show_fault,
                "[first, filler, first, [3, 3], first]",
                "[first, filler, [3, 3], first]",
            ),
            "The lowest id and the oldest block are never the same.",
            "C",
        ),
    },
    hints=(
        "An evictor is asked when no block is free. Its choice shows when a prompt comes back.",
        "Fill the pool, require one more block, and bring back the prompt that lost a block.",
        "A: two equally old blocks, one of which must go. B: an old and a new prompt. C: a prompt "
        "in block 0 that was used again before the newcomer arrives.",
    ),
    vllm=(
        "vllm/core/evictor.py: LRUEvictor.evict",
        "vllm/core/block/prefix_caching_block.py: PrefixCachingBlockAllocator."
        "_maybe_allocate_evicted_block_id",
    ),
    play=play,
    replay=replay,
)
