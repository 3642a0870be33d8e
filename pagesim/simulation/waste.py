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

from dataclasses import dataclass
from struct import Struct

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

ROW = np.dtype([("seconds", "=f8")] + [(name, "=i8") for name in (*CACHED_PARTS[:5], "batch")])
"""A row of a log: when it ended, and its slots; free is the rest of the pool."""

_PACKED = Struct("=d6q")

Slots = tuple[int, int, int, int]
"""Slots that are token, reserved, internal and external; the rest is cached or free."""


def usage(
    held: int, free: int, head_waits: bool, empty: int = 0, reserved: int = 0, beyond: int = 0
) -> Slots:
    """Where the slots are, from what a server or a memory policy knows of them.

    Requests hold ``held``: ``reserved`` of them will get a token, ``empty`` ones never. They were
    granted ``beyond`` on top of what they asked. ``free`` ones are of no use while the head of the
    queue waits because it does not fit.
    """
    token = held - reserved - empty
    return token, reserved, empty, beyond + free if head_waits else beyond


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of the pool in a step, in slots, and the time of the step's end, in seconds."""

    seconds: float
    token: int
    reserved: int
    internal: int
    external: int
    free: int
    batch: int
    cached: int = 0


class WasteLog:
    """The log of a simulation, one row per step; figures read it.

    ``pool`` is the number of slots, and ``parts`` are the kinds of use that the means distinguish.
    A row says how the slots were used from the ``seconds`` of the row before (or from 0) up to its
    own ``seconds``. A row with batch 0 is not a step: the server waited for an arrival or a copy.

    The means count all rows unless :meth:`steady` selects some of them.
    """

    __slots__ = ("_end", "_packed", "_start", "parts", "pool")

    def __init__(self, pool: int, parts: tuple[str, ...] = PARTS) -> None:
        self.pool = check_int("pool", pool, 1)
        self.parts = parts
        self._packed = bytearray()
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
        """Append a step: the slots of each kind and the requests that ran, up to ``seconds``.

        Nothing is checked here, to keep each step fast; :meth:`check` examines all rows.
        """
        self._packed += _PACKED.pack(seconds, token, reserved, internal, external, cached, batch)

    def check(self) -> None:
        """UsageError names the first row with a negative part, or with a time before the last."""
        parts = np.column_stack([self.column(name) for name in MEASURES])
        if (parts < 0).any():
            row, kind = (int(n) for n in np.argwhere(parts < 0)[0])
            raise UsageError(
                f"row {row}: {MEASURES[kind]} is {parts[row, kind]}; the {self.pool} slots of "
                f"the pool must be divided into parts that are not negative: {self.at(row)}"
            )
        late = np.flatnonzero(~(np.diff(self.seconds, prepend=0.0) >= 0))
        if late.size:
            time = self.at(late[0]).seconds
            raise UsageError(f"row {late[0]}: the time {time} is before that of the row above")

    def steady(self, start: float, end: float) -> None:
        """Take the means from ``start`` to ``end``, in seconds.

        If no step lies in between, as in a run too short for a steady state, all rows count.
        """
        seconds, batch = self.seconds, self.column("batch")
        if ((seconds > start) & (seconds <= end) & (batch > 0)).any():
            self._start, self._end = start, end

    # -- read ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._packed) // ROW.itemsize

    @property
    def rows(self) -> NDArray[np.void]:
        """A copy of all rows, ``[n]`` of `ROW`."""
        return np.frombuffer(bytes(self._packed), ROW)

    @property
    def seconds(self) -> NDArray[np.float64]:
        """The time at which each row ended, as a new array ``[n]``."""
        return np.array(self.rows["seconds"])

    @property
    def iterations(self) -> int:
        """The number of rows that are steps rather than waiting."""
        return int((self.rows["batch"] > 0).sum())

    def ends(self) -> tuple[float, ...]:
        """When each step ended, in seconds to the microsecond."""
        rows = self.rows
        return tuple(np.round(rows["seconds"][rows["batch"] > 0], 6).tolist())

    def column(self, name: str) -> NDArray[np.int64]:
        """Return the slots of one kind, or "batch", in every row, as a new array ``[n]``."""
        if name not in MEASURES:
            raise UsageError(f"no such column: {name!r}; there are {', '.join(MEASURES)}")
        rows = self.rows
        if name == "free":
            return np.asarray(self.pool - sum(rows[part] for part in CACHED_PARTS[:5]))
        return np.array(rows[name])

    def at(self, row: int) -> Usage:
        """Return the use of the pool in a row; negative numbers count from the end."""
        start = range(len(self))[row] * ROW.itemsize
        seconds, *used, batch = _PACKED.unpack_from(self._packed, start)
        token, reserved, internal, external, cached = used
        free = self.pool - sum(used)
        return Usage(seconds, token, reserved, internal, external, free, batch, cached)

    def mean(self, warmup: float | None = None, *, by_time: bool = False) -> dict[str, float]:
        """Return the mean step: the percentage of the pool for each part, and the mean "batch".

        The percentages sum to 100. ``warmup`` leaves out the rows before that second; None takes
        the steady state set by :meth:`steady`. ``by_time`` weights every row by how long it lasted,
        waiting included. UsageError if no step is left.
        """
        seconds, counted = self.seconds, self.counted(warmup, by_time=by_time)
        weights = np.diff(seconds, prepend=0.0)[counted] if by_time else np.ones(counted.sum())
        total = float(weights.sum())
        slots = np.column_stack([self.column(name) for name in (*CACHED_PARTS[:5], "batch")])
        *used, mean_batch = (weights @ slots[counted] / total).tolist()
        percent = [100 * part / self.pool for part in (*used, max(self.pool - sum(used), 0.0))]
        means = dict(zip(MEASURES, (*percent, mean_batch), strict=True))
        return {name: means[name] for name in (*self.parts, "batch")}

    def counted(self, warmup: float | None = None, *, by_time: bool = False) -> NDArray[np.bool_]:
        """Which rows :meth:`mean` counts, ``[n]``. UsageError if they last no time or are none."""
        start, end = (self._start, self._end) if warmup is None else (warmup, float("inf"))
        seconds, batch = self.seconds, self.column("batch")
        counted = (seconds > start) & (seconds <= end) & (by_time | (batch > 0))
        lasting = np.diff(seconds, prepend=0.0)[counted] if by_time else counted[counted]
        if not lasting.sum() > 0:
            raise UsageError(
                f"no step lies after {start} s and up to {end} s: the log has {len(self)} rows "
                f"up to {seconds[-1] if len(self) else 0.0} s; ask for a smaller warmup"
            )
        return np.asarray(counted)

    def time_mean(self, warmup: float | None = None) -> dict[str, float]:
        """:meth:`mean` with every row weighted by how long it lasted, waiting included."""
        return self.mean(warmup, by_time=True)
