"""2.2: when a growing sequence needs a new block."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pagesim.exercises.acts import count
from pagesim.exercises.exercise import Case, Exercise, Wrong
from pagesim.exercises.source import variant
from pagesim.story import Story
from pagesim.timeline.run import Timeline


def needs_a_block(length: int, block_size: int) -> bool:
    """Whether one more token makes a sequence of this length take a new block.

    length: its tokens before that one, at least 1. The sequence has no empty blocks reserved.
    """
    ### BEGIN SOLUTION
    return length % block_size == 0
    ### END SOLUTION


def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
    """Every length up to three blocks and one token, for one block size after the other."""
    for block_size in (5, 1, 7, 8) if hidden else (4, 1, 2, 3, 16):
        for length in range(1, 3 * block_size + 2):
            if block_size == 1:
                tag = "blocks of one slot"
            elif length % block_size == 0:
                tag = "the last block is full"
            else:
                tag = "one token" if length == 1 else "there is room"
            yield Case((length, block_size), tag=tag)


def expected(length: int, block_size: int) -> Any:
    """Whether the manager has a free block less afterwards."""
    story = Story(gpu_blocks=length + 1, block_size=block_size, record=False)
    sequence = story.arrive(range(length))
    before = story.manager.get_num_free_gpu_blocks()
    sequence.write([length])
    return story.manager.get_num_free_gpu_blocks() < before


def why(case: Case, yours: Any, right: Any) -> str:
    """How full the last block is, and which slip fits."""
    length, block_size = case.args
    filled = (length - 1) % block_size + 1
    room = block_size - filled
    last = f"After {count(length, 'token')} the last block of {count(block_size, 'slot')} has"
    if not room:
        said = f"{last} no room: the next token needs a block."
        return f"{said} No remainder of a division by 1 is 1." if block_size == 1 else said
    said = f"{last} room for {count(room, 'more token')}."
    if yours == (length % block_size == 1):
        said += " When length % block_size is 1, a block has just been taken."
    return said


def play(case: Case) -> Timeline:
    """The sequence, and the token in question."""
    length, block_size = case.args
    story = Story(gpu_blocks=-(-length // block_size) + 1, block_size=block_size)
    story.arrive(range(length)).write([length])
    return story.run


EXERCISE = Exercise(
    number="2.2",
    title="A new block",
    stars=1,
    statement="""\
A sequence has `length` tokens in blocks of `block_size` slots, and no more blocks than it needs.
Write `needs_a_block(length, block_size)`: True if the next token takes a new block, False if it
goes into the last one. One line is enough, if it is right for every block size.

`needs_a_block(4, 4)` is True, and `needs_a_block(5, 4)` is False.""",
    reference=needs_a_block,
    cases=cases,
    expected=expected,
    why=why,
    mistakes={
        "length_after": Wrong(
            variant(needs_a_block, "== 0", "== 1"),
            "The length is one more than a multiple of the block size when a block is taken.",
            "one token",
        ),
        "one_late": Wrong(
            variant(
                needs_a_block, "length % block_size == 0", "length > 1 and length % block_size == 1"
            ),
            "A block is taken once the last one has overflowed.",
            "the last block is full",
        ),
        "one_early": Wrong(
            variant(needs_a_block, "length %", "(length + 1) %"),
            "The token that fills a block also takes the next one.",
            "there is room",
        ),
        "wrong_for_one": Wrong(
            variant(needs_a_block, "length % block_size == 0", "(length + 1) % block_size == 1"),
            "The new length is one more than a multiple of the block size.",
            "blocks of one slot",
        ),
    },
    hints=(
        "Draw the last block of a sequence of 3, 4 and 5 tokens, with 4 slots in a block.",
        "The last block is full when the length is a multiple of the block size.",
        "length % block_size == 0. Try your own line with block_size 1 as well.",
    ),
    vllm=(
        "vllm/core/block/block_table.py: BlockTable.ensure_num_empty_slots",
        "vllm/core/block_manager.py: SelfAttnBlockSpaceManager.append_slots",
    ),
    play=play,
)
