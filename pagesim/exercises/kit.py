"""What exercises are made of, for one line of imports."""

from collections.abc import Callable, Iterator, Sequence
from operator import eq
from random import Random as Random
from typing import TYPE_CHECKING, Any

from pagesim.errors import UsageError as UsageError
from pagesim.exercises.case import Case as Case
from pagesim.exercises.case import Goal as Goal
from pagesim.exercises.case import Value as Value
from pagesim.exercises.values import close as close
from pagesim.exercises.values import has_nan as has_nan
from pagesim.player.describe import counted as counted
from pagesim.story import Story as Story
from pagesim.timeline.pair import Compared as Compared
from pagesim.timeline.pair import compare as compare
from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline as Timeline

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    Array = Any  # most exercises need no NumPy, and run where there is none: in a browser

Cases = Iterator[Case]
recorded = record
"""Named so because oracles have a keyword ``record``."""

Ops = list[tuple[Any, ...]]
"""Comings and goings: ("in", name, how much), ("out", name)."""


def parted(yours: Any, right: Any, same: Callable[..., Any] = eq) -> int:
    """The first place at which two lists of one length differ; an error if there is none."""
    pairs = enumerate([*zip(yours, right, strict=True)])
    return next(place for place, pair in pairs if not same(*pair))


def some_ops(rng: Random, most: int) -> Ops:
    """Eight sequences come, with up to ``most`` of something; at most three are here at once."""
    ops: Ops = []
    here: set[str] = set()
    for _ in range(8):
        while here and (len(here) == 3 or rng.random() < 0.4):
            gone = rng.choice(sorted(here))
            here.remove(gone)
            ops.append(("out", gone))
        name = rng.choice([name for name in "abcd" if name not in here])
        here.add(name)
        ops.append(("in", name, rng.randint(1, most)))
    return ops


def ops_in_words(ops: Ops, thing: str) -> str:
    """The same for a student; a sequence arrives with so many things."""
    return ", ".join(
        f"{op[1]} arrives with {counted(op[2], thing)}" if op[0] == "in" else f"{op[1]} leaves"
        for op in ops
    )


def lost(yours: list[int], right: list[int]) -> str:
    """What is wrong with a free list that has other blocks than the right one."""
    if sorted(yours) == sorted(right):
        return ""
    odd = sorted(set(right) ^ set(yours))
    look = f"Look at blocks {odd}" if odd else "Your list has a block twice"
    return f"A block is either free or in one table. {look}."


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
