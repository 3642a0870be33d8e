"""What exercises are made of, for one line of imports."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random as Random
from typing import Any

from pagesim.exercises.acts import count as count
from pagesim.exercises.case import Case as Case
from pagesim.exercises.goal import Goal as Goal
from pagesim.exercises.stage import placed as placed
from pagesim.exercises.stage import placed_together as placed_together
from pagesim.exercises.values import close as close
from pagesim.story import Story as Story
from pagesim.timeline.run import Timeline as Timeline

Cases = Iterator[Case]

Ops = list[tuple[Any, ...]]
"""Comings and goings: ("in", name, how much), ("out", name)."""


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
        f"{op[1]} arrives with {count(op[2], thing)}" if op[0] == "in" else f"{op[1]} leaves"
        for op in ops
    )
