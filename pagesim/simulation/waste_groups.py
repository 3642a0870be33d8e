"""Where the places of a pool are that several groups of layers share: see `waste` for the words.

A block is one group's at a time. What requests hold of it is `token`, `internal` (empty and never
used) or `behind`: written, and no longer read by anyone, because all windows have moved on. A block
is given back when all of it is behind and the next tokens are scheduled.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.simulation.waste import WasteLog

GROUP_PARTS = ("token", "internal", "behind")
"""What requests hold in a group."""


@dataclass(frozen=True, slots=True)
class GroupsWaste:
    """What requests hold in each group, step by step, in places of the pool."""

    names: tuple[str, ...]
    layers: tuple[int, ...]
    """The layers of each group. A block has a page for as many as the largest group has."""
    log: WasteLog
    """That of the whole pool."""
    held: array[int]
    """For each step, and in it for each group, its `GROUP_PARTS`."""

    def column(self, part: str) -> NDArray[np.int64]:
        """Return a part of every step and group, as a new array ``[steps, groups]``."""
        if part not in GROUP_PARTS:
            raise UsageError(f"no such part: {part!r}; there are {', '.join(GROUP_PARTS)}")
        return self._all()[:, :, GROUP_PARTS.index(part)].copy()

    def mean(self, warmup: float | None = None) -> dict[str, dict[str, float]]:
        """Return the mean step, by group: each part in percent of the pool.

        ``padding`` is what no layer of the group uses in the blocks that requests hold. The steps
        are those of :meth:`WasteLog.mean`. UsageError if there is none.
        """
        counted = self.log.counted(warmup)[self.log.column("batch") > 0]
        means = 100 * self._all()[counted].mean(axis=0) / self.log.pool
        found = {}
        for name, layers, row in zip(self.names, self.layers, means.tolist(), strict=True):
            used = [layers / max(self.layers) * part for part in row]
            found[name] = dict(zip(GROUP_PARTS, used, strict=True))
            found[name]["padding"] = sum(row) - sum(used)
        return found

    def summary(self) -> list[JsonObject]:
        """The means as JSON, a group each."""
        return [{"group": name, **means} for name, means in self.mean().items()]

    def _all(self) -> NDArray[np.int64]:
        shape = (-1, len(self.names), len(GROUP_PARTS))
        return np.frombuffer(self.held.tobytes(), np.int64).reshape(shape)


def rows(means: dict[str, dict[str, float]]) -> Iterator[Sequence[str]]:
    """The means as cells of a table, below their head."""
    yield ("group, % of the pool", *GROUP_PARTS, "padding")
    for name, parts in means.items():
        yield (name, *(f"{value:.1f}" for value in parts.values()))
