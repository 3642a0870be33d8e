"""Finds events by the columns of their log, with NumPy or, without it, in a loop."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

from pagesim.errors import UsageError
from pagesim.journal import effects as fx
from pagesim.journal.effects import Name
from pagesim.timeline.log import EVENT, ROW, Log

A, B = 1, 2
"""The columns after the kind that may name a block or a table."""
OF_A_TABLE = (fx.WRITE, fx.HIT, fx.NULL, fx.PATCH, fx.OPEN, fx.CLOSE, fx.TOKENS)


def with_numpy() -> Any:
    """NumPy, or None if it is not installed."""
    try:
        return import_module("numpy")
    except ImportError:
        return None


class Search:
    """Searches the events ``first`` … ``last - 1`` of a log by kind, block or sequence."""

    def __init__(self, log: Log, first: int, last: int) -> None:
        self._log, self._first, self._last = log, first, last
        self._numpy = with_numpy()

    def of_block(self, block: int) -> set[int]:
        """The events with an effect on a block."""
        effects = range(len(fx.EFFECTS))
        return self._rows(effects, A, [block]) | self._rows((fx.COPY, fx.MOVE), B, [block])

    def of_sequence(self, name: Name) -> set[int]:
        """The events that concern a table or sequence, or do something to it."""
        log = self._log
        lives = [i for i, life in enumerate(log.tables) if life.name == name]
        subjects = [i for i, subject in enumerate(log.subjects) if subject == name]
        return self._rows(OF_A_TABLE, B, lives) | self._events(1, subjects)

    def of_kind(self, kind: str) -> set[int]:
        """The events of a kind, or with an effect of that kind. UsageError for an unknown kind."""
        codes = [i for i, word in enumerate(self._log.kinds) if word == kind]
        if kind in fx.EFFECTS:
            return self._rows((fx.EFFECTS.index(kind),), A, None) | self._events(0, codes)
        known = {*fx.EFFECTS, *fx.CALLS, *fx.DECISIONS, fx.FAILED, *self._log.kinds}
        if kind not in known:
            raise UsageError(f"unknown kind {kind!r}: there are {', '.join(sorted(known))}")
        return self._events(0, codes)

    def _events(self, column: int, values: Collection[int]) -> set[int]:
        """The events with one of these numbers in a column."""
        events, _ = self._log.columns(self._first, self._last)
        if (numpy := self._numpy) is None:
            wanted = set(values)
            return {i for i, value in enumerate(events[column::EVENT]) if value in wanted}
        found = numpy.isin(numpy.array(events[column::EVENT]), list(values))
        return set(numpy.flatnonzero(found).tolist())

    def _rows(
        self, kinds: Collection[int], column: int, values: Collection[int] | None
    ) -> set[int]:
        """The events with a row of these kinds, and one of these numbers in a column."""
        events, rows = self._log.columns(self._first, self._last)
        begin, ends = self._log.start_of(self._first), events[2::EVENT]
        if (numpy := self._numpy) is not None:
            found = numpy.isin(numpy.array(rows[::ROW]), list(kinds))
            if values is not None:
                found &= numpy.isin(numpy.array(rows[column::ROW]), list(values))
            at: Any = begin + ROW * numpy.flatnonzero(found)
            return set(numpy.searchsorted(numpy.array(ends), at, side="right").tolist())
        these, wanted, hits, at = set(kinds), set(values or ()), set(), 0
        for event, end in enumerate(ends):
            while begin + at < end:
                if rows[at] in these and (values is None or rows[at + column] in wanted):
                    hits.add(event)
                at += ROW
        return hits
