"""5.1: the copies that a prompt's samples cost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline


def copies(prompt: int, samples: int, block_size: int) -> list[tuple[int, int]]:
    """The copies, as (from, to) in their order, when every sample has written its first token.

    s0 arrives with a prompt of so many tokens in an empty cache, whose free list is 0, 1, 2, …;
    s1, s2, … are forked from it; then s0 writes a token, then s1, and so on.
    """
    ### BEGIN SOLUTION
    if prompt % block_size == 0:
        return []
    num_blocks = prompt // block_size + 1
    shared = num_blocks - 1
    return [(shared, num_blocks + writer) for writer in range(samples - 1)]
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """One sample, two, three; prompts that fill their last block, and others."""
    for block_size in (3, 5) if hidden else (4, 2):
        for samples in (1, 2, 3, 5):
            for prompt in range(1, 2 * block_size + 1):
                yield _case(prompt, samples, block_size)


def _case(prompt: int, samples: int, block_size: int) -> Case:
    told = (
        f"a prompt of {count(prompt, 'token')}, {count(samples, 'sample')}, blocks of {block_size}"
    )
    if samples == 1:
        tag = "no fork"
    elif prompt % block_size == 0:
        tag = "a full last block"
    elif prompt > block_size:
        tag = "a full block and a partial one"
    else:
        tag = "two samples" if samples == 2 else "three samples"
    return Case((prompt, samples, block_size), told, tag)


def _tell(prompt: int, samples: int, block_size: int) -> tuple[Story, list[tuple[int, int]]]:
    story = Story(gpu_blocks=16 + samples, block_size=block_size)
    first = story.arrive(range(prompt))
    family = [first, *(first.fork() for _ in range(samples - 1))]
    made = [pair for i, sample in enumerate(family) for pair in sample.write([1000 + i])]
    return story, made


def expected(prompt: int, samples: int, block_size: int) -> Any:
    """The copies that the block manager asks for."""
    return _tell(prompt, samples, block_size)[1]


def why(case: Case, yours: Any, right: Any) -> str:
    """Too many, too few, or to another block."""
    prompt, samples, block_size = case.args
    full, filled = divmod(prompt, block_size)
    if not right:
        if samples == 1:
            return "A block with one owner is written in place."
        return (
            "The prompt fills its last block: each sample writes into a new block, and copies none."
        )
    left = {pair[0] for pair in yours}
    if left & set(range(full)):
        block = min(left & set(range(full)))
        return f"Nothing is written into a full block, so block {block} is shared for good."
    if len(yours) >= samples:
        return "The last of the samples is the only owner left when it writes: it needs no copy."
    if left - {full}:
        return f"Every writer leaves block {full}, where the prompt ends: that is what is copied."
    return (
        f"Block {full} has {filled} of {block_size} slots filled and {samples} owners; each writer "
        "but the last moves to the next free block."
    )


def play(case: Case) -> Timeline:
    """The forks, and their writes."""
    return _tell(*case.args)[0].run


EXERCISE = Exercise(
    number="5.1",
    title="What samples cost",
    stars=1,
    statement="""\
`s0` arrives with a prompt of `prompt` tokens in an empty cache whose free list is 0, 1, 2, …. Then
`s1`, `s2`, … are forked from it, until there are `samples` of them. Then each writes one token,
`s0` first. Write `copies(prompt, samples, block_size)`: the blocks that must be copied, as a list
of pairs (from, to), in the order in which the manager asks for them.

With a prompt of 7 tokens, 2 samples and blocks of 4 it is `[(1, 2)]`. And with 3 samples?""",
    reference=copies,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "the_last_one_too": Wrong(
            variant(copies, "range(samples - 1)", "range(samples)"),
            "Every sample gets a copy of its own.",
            "no fork",
        ),
        "full_blocks_too": Wrong(
            variant(
                copies,
                "[(shared, num_blocks + writer) for writer in range(samples - 1)]",
                "[(block, num_blocks * (writer + 1) + block) for writer in range(samples - 1) "
                "for block in range(num_blocks)]",
            ),
            "The first writer takes all of the prompt with it.",
            "a full block and a partial one",
        ),
        "a_full_last_block": Wrong(
            variant(copies, "if prompt % block_size == 0:", "if samples == 1:"),
            "A shared last block is always copied before a write.",
            "a full last block",
        ),
        "copies_of_copies": Wrong(
            variant(
                copies, "(shared, num_blocks + writer)", "(shared + writer, num_blocks + writer)"
            ),
            "Each writer copies what the one before has written.",
            "three samples",
        ),
    },
    hints=(
        "Into which block does the next token go, and how many owners does it have at that moment?",
        "A writer that shares the block moves to a new one, and the block has one owner fewer. "
        "What about the last writer?",
        "Block prompt // block_size is copied samples - 1 times, to the next free blocks in turn; "
        "nothing is copied if the prompt ends with a full block.",
    ),
    vllm=(
        "vllm/core/block/naive_block.py: NaiveBlockAllocator.cow_block_if_not_appendable, fork",
        "vllm/core/block/common.py: CopyOnWriteTracker.record_cow, RefCounter",
    ),
    play=play,
)
