"""What exercises are made of, for one line of imports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import eq
from random import Random as Random
from typing import Any

from pagesim.errors import UsageError as UsageError
from pagesim.exercises.case import Case as Case
from pagesim.exercises.goal import Goal as Goal
from pagesim.exercises.stage import placed as placed
from pagesim.exercises.stage import placed_together as placed_together
from pagesim.exercises.values import close as close
from pagesim.player.describe import counted as counted
from pagesim.story import Story as Story
from pagesim.timeline.pair import Compared as Compared
from pagesim.timeline.pair import compare as compare
from pagesim.timeline.record import record
from pagesim.timeline.run import Timeline as Timeline

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
