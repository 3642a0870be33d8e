"""A second tier that joins a recording of the GPU alone: it begins empty, and is filled at once."""

from collections.abc import Iterator
from dataclasses import replace

from pagesim.journal import effects as fx
from pagesim.journal.effects import Row
from pagesim.journal.state import State


def _used(state: State) -> list[int]:
    """The blocks of the tier that hold something, or are about to."""
    return [b for b, count in state.ref_counts.items() if count and b >= _first(state)]


def _first(state: State) -> int:
    """The first block of the tier."""
    return next(iter(state.pools.values()))


def with_empty_tier(start: State, state: State) -> State:
    """The state in which a recording began, with the tier of ``state``, where nothing was yet."""
    name = list(state.lists)[-1]
    counts = dict.fromkeys(range(_first(state), state.num_blocks), 0)
    return replace(
        start,
        pools=state.pools,
        ref_counts={**start.ref_counts, **counts},
        lists={**start.lists, name: (*_used(state), *state.lists[name])},
        tier=state.tier,
    )


def tier_rows(state: State) -> Iterator[Row]:
    """What leads from an empty tier to that of ``state``."""
    name = list(state.lists)[-1]
    for block in _used(state):
        yield fx.TAKE, block, name
        for _ in range(state.ref_counts[block] - 1):
            yield fx.SHARE, block
        if block in state.cached:
            yield fx.COMPUTED, block
            yield fx.CACHE, block
    for job in state.jobs:
        yield fx.BEGIN, *job
