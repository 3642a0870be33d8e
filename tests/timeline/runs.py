"""Recorded runs of random calls: of either scheduler, a manager, bare tables or one allocator."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pagesim
from pagesim.timeline import State, Timeline
from tests.timeline.random_calls.device import DeviceRun
from tests.timeline.random_calls.groups import GroupsRun
from tests.timeline.random_calls.manager import ManagerRun
from tests.timeline.random_calls.offload import OffloadRun
from tests.timeline.random_calls.scheduler import SchedulerRun
from tests.timeline.random_calls.source import Source
from tests.timeline.random_calls.tables import TableRun

SOURCES: dict[str, Callable[[int], Source]] = {
    "manager-naive": lambda seed: ManagerRun(seed, False),
    "manager-caching": lambda seed: ManagerRun(seed, True),
    "window-naive": lambda seed: ManagerRun(seed, False, window=8),
    "window-caching": lambda seed: ManagerRun(seed, True, window=8),
    "tables-naive": lambda seed: TableRun(seed, False),
    "tables-caching": lambda seed: TableRun(seed, True),
    "device-naive": lambda seed: DeviceRun(seed, False),
    "device-caching": lambda seed: DeviceRun(seed, True),
    "scheduler": SchedulerRun,
    "groups": GroupsRun,
    "offload": OffloadRun,
}
"""Each kind of run: makes one from a seed."""


def recorded(kind: str, seed: int, steps: int) -> Timeline:
    """A run of so many steps, begun after some that nobody recorded."""
    source = SOURCES[kind](seed)
    source.steps(seed % 7)
    with pagesim.record(source.subject) as run:
        source.run = run
        source.steps(steps)
    return run


def reloaded(run: Timeline, path: Path | str) -> Timeline:
    """A run that was saved to this file and loaded again, which is the same at every step."""
    run.save(path)
    loaded = pagesim.load(path)
    assert (loaded.first, list(loaded)) == (run.first, list(run))
    for step in range(len(run) + 1):
        assert loaded.at(step) == run.at(step)
        assert list(loaded.at(step).tables) == list(run.at(step).tables)
    return loaded


def watched(source: Source, steps: int) -> tuple[Timeline, list[tuple[int, State]]]:
    """A recorded run, and the live states at its steps: one after each call that made events."""
    with pagesim.record(source.subject) as run:
        source.run = run
        if isinstance(source, TableRun):
            for name, table in source.tables.items():
                run.label(table, name)
        states = [(0, source.live())]
        for _ in range(steps):
            source.step()
            if len(run) > states[-1][0]:
                states.append((len(run), source.live()))
    return run, states


def comparable(state: State, tables: Sequence[object] | None = None) -> State:
    """A state without what no live table can tell: tokens that fell out of its window.

    With ``tables`` only those of its tables that are named there.
    """
    size = state.block_size
    kept = {}
    for name, table in state.tables.items():
        tokens = list(table.token_ids)
        for k, block_id in enumerate(table.block_ids):
            if block_id == state.null_block:
                tokens[size * k : size * (k + 1)] = [0] * len(tokens[size * k : size * (k + 1)])
        if tables is None or name in tables:
            kept[name] = replace(table, token_ids=tuple(tokens))
    return replace(state, tables=kept)
