"""0.1: two block tables and a free list, before the run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises import replays
from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline

TEXT = """it was the best of times it was the worst of times it was the age of wisdom it was the
age of foolishness it was the epoch of belief it was the epoch of incredulity"""


def predict(
    first: str, second: str, num_blocks: int, block_size: int
) -> tuple[list[int], list[int], list[int]]:
    """The block table of each sentence, and the free list after both have arrived.

    Every word is one token. At first all blocks are free: 0, 1, 2, … up to num_blocks - 1.
    """
    ### BEGIN SOLUTION
    free = list(range(num_blocks))
    tables = []
    for sentence in (first, second):
        num_tokens = len(sentence.split())
        num_needed = (num_tokens + block_size - 1) // block_size
        tables.append(free[:num_needed])
        free = free[num_needed:]
    return tables[0], tables[1], free
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Two sentences of few words, then of more; 12 blocks of 4 as in the chapter."""
    block_size = 3 if hidden else 4
    for total in range(2, 2 * block_size + 5):
        for begin in range(1, total):
            yield _case(begin, total - begin, 12, block_size)
    for _ in range(10):
        block_size = rng.choice((2, 5, 8, 16))
        yield _case(rng.randint(1, 16), rng.randint(1, 16), 20, block_size)


def _case(first: int, second: int, num_blocks: int, block_size: int) -> Case:
    tag = "two words"
    if first % block_size == 0:
        tag = "the first sentence fills its blocks"
    elif second % block_size == 0:
        tag = "the second sentence fills its blocks"
    elif first + second > 2:
        tag = "more words"
    words = TEXT.split()
    sentences = " ".join(words[:first]), " ".join(words[first : first + second])
    return Case((*sentences, num_blocks, block_size), tag=tag)


def expected(first: str, second: str, num_blocks: int, block_size: int) -> Any:
    """What the block manager does with them."""
    story = _tell(first, second, num_blocks, block_size)
    tables = [writer.block_ids for writer in story.writers]
    return (*tables, list(story.run.at(-1).free_gpu))


def _tell(first: str, second: str, num_blocks: int, block_size: int) -> Story:
    story = Story(gpu_blocks=num_blocks, block_size=block_size)
    story.arrive(first)
    story.arrive(second)
    return story


def why(case: Case, yours: Any, right: Any) -> str:
    """The first of the three lists that differs, and its rule."""
    first, second, _, block_size = case.args
    for number, sentence in enumerate((first, second)):
        table, truth, words = list(yours[number]), right[number], len(sentence.split())
        if len(table) != len(truth):
            return (
                f"s{number} has {count(words, 'word')} and a block holds {block_size}, so it takes "
                f"{count(len(truth), 'block')}. The last one may be partly empty, but none is "
                "taken before there is a word for it."
            )
        if number and set(table) & set(right[0]):
            return (
                f"Block {min(set(table) & set(right[0]))} belongs to s0: both sentences take from "
                "one pool, and no block has two owners here, not even one with empty slots."
            )
        if table != truth:
            return f"s{number} takes the first {len(truth)} blocks of the free list, in its order."
    return "The free list keeps the blocks that are left, in the order in which they will be taken."


def play(case: Case) -> Timeline:
    """The two sentences arrive."""
    return _tell(*case.args).run


def shares_the_last_block(
    first: str, second: str, num_blocks: int, block_size: int
) -> tuple[list[int], list[int], list[int]]:
    """A wrong answer: the second sentence begins where the first one ends."""
    begin = len(first.split())
    end = begin + len(second.split())
    tables = [
        [p // block_size for p in positions] for positions in (range(begin), range(begin, end))
    ]
    used = max(tables[1]) + 1
    return sorted(set(tables[0])), sorted(set(tables[1])), list(range(used, num_blocks))


EXERCISE = Exercise(
    number="0.1",
    title="Two sentences",
    stars=1,
    statement="""\
Two sentences arrive in an empty cache, one after the other. Every word is one token, and a block
has `block_size` slots. Say beforehand what the player will show: write `predict(first, second,
num_blocks, block_size)`, which returns three lists of block ids: the block table of the first
sentence, the block table of the second, and the free list once both are there.

`predict("Alice was beginning to get", "Call me Ishmael", 6, 4)` is `([0, 1], [2], [3, 4, 5])`.

Then try sentences of your own, and compare with `pagesim.Story`.""",
    reference=predict,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "from_zero": Wrong(
            variant(
                predict,
                "tables.append(free[:num_needed])",
                "tables.append(list(range(num_needed)))",
            ),
            "Every sequence counts its blocks from 0.",
            "two words",
        ),
        "one_too_many": Wrong(
            variant(
                predict,
                "(num_tokens + block_size - 1) // block_size",
                "num_tokens // block_size + 1",
            ),
            "A sequence with a full last block already has the next one.",
            "the second sentence fills its blocks",
        ),
        "last_block_shared": Wrong(
            shares_the_last_block,
            "Empty slots are filled first, even in the block of another sequence.",
            "two words",
        ),
    },
    hints=(
        "How many blocks does a sentence of 5 words need, if 4 words go into one? And one of 8?",
        "The first sentence takes the first blocks of the free list; the second takes from what "
        "is left of the same list.",
        "The number of blocks is the number of words divided by block_size, rounded up: "
        "(words + block_size - 1) // block_size. Cut that many off the front of "
        "list(range(num_blocks)), twice.",
    ),
    vllm=(
        "vllm/core/block/block_table.py: BlockTable.get_num_required_blocks, BlockTable.allocate",
        "vllm/core/block/naive_block.py: NaiveBlockAllocator.allocate_immutable_block",
    ),
    play=play,
    replay=replays.tables,
)
