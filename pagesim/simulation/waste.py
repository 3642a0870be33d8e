"""Where the slots of the pool are: token, reserved, internal, external, cached or free.

* token: its keys and values are in the cache;
* reserved: a request holds it, and its output will still use it;
* internal: a request holds it and will never use it (paged: the empty slots of its last block);
* external: granted beyond what was asked, or free while the head of the queue waits in vain;
* cached: no request holds it, but its block is still found by content (V1 alone counts these);
* free: no request holds it, and none waits for it.

Source of the terms: "Efficient Memory Management for Large Language Model Serving with
PagedAttention" (SOSP '23), section 3.1 and Figure 2, where free space is part of "external".
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pagesim.checks import check_int
from pagesim.errors import UsageError

PARTS: tuple[str, ...] = ("token", "reserved", "internal", "external", "free")
"""The five kinds of slots, in the order in which they are stacked."""

CACHED_PARTS: tuple[str, ...] = (*PARTS[:4], "cached", "free")
"""The kinds of slots where cached blocks without an owner are counted apart."""

MEASURES = (*CACHED_PARTS, "batch")
"""What can be read from a log."""

COLUMNS = ("token", "reserved", "internal", "external", "cached", "batch")
"""What a row of a log stores in addition to its time; free is the rest of the pool."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The pool in one iteration, in slots, and when the iteration ended, in seconds."""

    seconds: float
    token: int
    reserved: int
    internal: int
    external: int
    free: int
    batch: int
    cached: int = 0


class WasteLog:
    """What a simulation writes, one row per iteration, and what figures read.

    ``pool`` is in slots, ``parts`` are the kinds that its means have. A row says how the slots were
    used *until* its ``seconds``, from the row before (or from 0) on. A row with batch 0 is not an
    iteration: the server waited for an arrival.

    The means count all rows unless :meth:`steady` selects some of them.
    """

    __slots__ = ("_end", "_rows", "_seconds", "_start", "parts", "pool")

    def __init__(self, pool: int, parts: tuple[str, ...] = PARTS) -> None:
        self.pool = check_int("pool", pool, 1)
        self.parts = parts
        self._seconds = array("d")
        self._rows = array("q")
        self._start = 0.0
        self._end = float("inf")

    # -- written by a simulation -----------------------------------------------------------------

    def add(
        self,
        seconds: float,
        token: int,
        reserved: int,
        internal: int,
        external: int,
        batch: int,
        cached: int = 0,
    ) -> None:
        """Append an iteration: slots of each kind, and how many requests ran, until ``seconds``.

        Nothing is checked here, in every iteration: :meth:`check` examines all rows.
        """
        self._seconds.append(seconds)
        self._rows.extend((token, reserved, internal, external, cached, batch))

    def check(self) -> None:
        """UsageError names the first row with a negative part, or with a time before the last."""
        parts = np.column_stack([self.column(name) for name in MEASURES])
        if (parts < 0).any():
            row, kind = (int(n) for n in np.argwhere(parts < 0)[0])
            name = MEASURES[kind]
            raise UsageError(
                f"row {row}: {name} is {parts[row, kind]}; the {self.pool} slots of the pool "
                f"must be divided into parts of at least 0: {self.at(row)}"
            )
        late = np.flatnonzero(~(np.diff(self.seconds, prepend=0.0) >= 0))
        if late.size:
            raise UsageError(
                f"row {late[0]}: the time {self._seconds[late[0]]} is before that of the row above"
            )

    def steady(self, start: float, end: float) -> None:
        """Take the means from ``start`` to ``end``, in seconds.

        If no iteration lies in between, as in a run too short for a steady state, all count.
        """
        seconds, batch = self.seconds, self.column("batch")
        if ((seconds > start) & (seconds <= end) & (batch > 0)).any():
            self._start, self._end = start, end

    # -- read ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._seconds)

    @property
    def seconds(self) -> NDArray[np.float64]:
        """When each row ended, ``[n]``, as a new array."""
        return np.array(self._seconds)

    @property
    def iterations(self) -> int:
        """How many rows are iterations rather than waiting."""
        return int((self.column("batch") > 0).sum())

    def column(self, name: str) -> NDArray[np.int64]:
        """The slots of one kind, or "batch", in every row: ``[n]``, as a new array."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, len(COLUMNS))
        if name == "free":
            return np.asarray(self.pool - rows[:, :-1].sum(axis=1))
        if name not in COLUMNS:
            raise UsageError(f"no such column: {name!r}; there are {', '.join(MEASURES)}")
        return rows[:, COLUMNS.index(name)].copy()

    def at(self, row: int) -> Usage:
        """How the pool was used in a row; negative rows count from the end, as in a list."""
        seconds = self._seconds[row]
        start = row % len(self) * len(COLUMNS)
        *used, batch = self._rows[start : start + len(COLUMNS)]
        token, reserved, internal, external, cached = used
        free = self.pool - sum(used)
        return Usage(seconds, token, reserved, internal, external, free, batch, cached)

    def mean(self, warmup: float | None = None) -> dict[str, float]:
        """The mean iteration: percent of the pool for each part (they sum to 100), and "batch".

        ``warmup`` in seconds leaves out only what came before; None means the steady state set by
        :meth:`steady`. UsageError if no iteration is left.
        """
        return self._mean(warmup, by_time=False)

    def time_mean(self, warmup: float | None = None) -> dict[str, float]:
        """:meth:`mean` with every row weighted by how long it lasted, waiting included."""
        return self._mean(warmup, by_time=True)

    def _mean(self, warmup: float | None, *, by_time: bool) -> dict[str, float]:
        start, end = (self._start, self._end) if warmup is None else (warmup, float("inf"))
        seconds, rows = self.seconds, np.array(self._rows, dtype=np.int64).reshape(-1, len(COLUMNS))
        counted = (seconds > start) & (seconds <= end)
        if not by_time:
            counted &= rows[:, -1] > 0
        weights = np.diff(seconds, prepend=0.0)[counted] if by_time else np.ones(counted.sum())
        total = float(weights.sum())
        if not total > 0:
            raise UsageError(
                f"no iteration lies after {start} s and up to {end} s: the log has {len(self)} "
                f"rows up to {seconds[-1] if len(self) else 0.0} s; ask for a smaller warmup"
            )
        *used, batch = (weights @ rows[counted] / total).tolist()
        percent = [100 * slots / self.pool for slots in (*used, max(self.pool - sum(used), 0.0))]
        means = dict(zip(MEASURES, (*percent, batch), strict=True))
        return {name: means[name] for name in (*self.parts, "batch")}
