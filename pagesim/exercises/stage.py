"""Runs for the player that begin in a chosen state, brought about by the simulator itself."""

from __future__ import annotations

from collections.abc import Sequence

from pagesim.story import Story
from pagesim.timeline.run import Timeline


def placed(table: Sequence[int], num_tokens: int, block_size: int) -> Timeline:
    """A sequence of so many tokens arrives in the blocks of this table, and in no others."""
    return placed_together([table], [num_tokens], block_size)


def placed_together(
    tables: Sequence[Sequence[int]], lengths: Sequence[int], block_size: int
) -> Timeline:
    """Sequences of these lengths arrive, each in the blocks of its table that its tokens need.

    Before that, one guest after the other takes a block and leaves such that the free list, which
    is last in, first out, begins with these blocks. The run shows what comes then.
    """
    pairs = zip(tables, lengths, strict=True)
    needed = [block for table, n in pairs for block in table[: -(-n // block_size)]]
    num_blocks = max(block for table in tables for block in table) + 1
    story = Story(gpu_blocks=num_blocks, block_size=block_size)
    guests = [story.arrive([0]) for _ in range(num_blocks)]
    others = [block for block in range(num_blocks) if block not in needed]
    for block in [*others, *reversed(needed)]:
        guests[block].leave()
    begun = len(story.run)
    for number, length in enumerate(lengths):
        story.arrive(range(100 * number, 100 * number + length), name=f"s{number}")
    return story.run[begun:]
