"""Runs for the player that begin in a chosen state, brought about by the simulator itself."""

from __future__ import annotations

from collections.abc import Sequence

from pagesim.story import Story
from pagesim.timeline.run import Timeline


def placed(table: Sequence[int], num_tokens: int, block_size: int) -> Timeline:
    """A sequence of so many tokens arrives in the blocks of this table, and in no others.

    Before that, one guest after the other takes a block and leaves such that the free list, which
    is last in, first out, begins with the table. The run shows what comes then.
    """
    num_blocks = max(table) + 1
    story = Story(gpu_blocks=num_blocks, block_size=block_size)
    guests = [story.arrive([0]) for _ in range(num_blocks)]
    others = [block for block in range(num_blocks) if block not in table]
    for block in [*others, *reversed(table)]:
        guests[block].leave()
    begun = len(story.run)
    story.arrive(range(num_tokens), name="s")
    return story.run[begun:]
