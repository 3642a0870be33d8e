"""One recording in progress: which table is which in the log, and where its effects go."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from pagesim.block.block_table import BlockTable
from pagesim.block.interfaces import UsageError
from pagesim.block.undo import UndoLog
from pagesim.timeline.effects import CLOSE, HIT, OPEN, PROMOTE, WRITE, Name
from pagesim.timeline.log import FAILED, ROW, Log, TableLog

TAPS: dict[UndoLog, Tap] = {}
"""The recordings in progress. The objects of one allocator share its undo log: that is the key."""


class Tap:
    """Turns what the block layer does into the rows of a log.

    ``open`` says that an event is being recorded: calls inside of it are not events of their own.
    While tokens are written, ``writing`` says whose, ``position`` to ``end`` which are yet to come,
    and ``first`` is the first row of the write in progress.
    """

    def __init__(self, log: Log, known: Mapping[Name, BlockTable]) -> None:
        self.log = log
        self.listeners = 0
        self.open = False
        self.rows, self.subjects = log.open_rows, log.subject_codes
        self.writing: TableLog | None = None
        self.position = self.end = self.first = 0
        self.forked: BlockTable | None = None
        self.lives: dict[BlockTable, TableLog] = {}
        self._names: dict[BlockTable, Name] = {}
        self._begun: list[BlockTable] = []
        self._unnamed = 0
        for name, table in known.items():
            self._names[table] = name
            self.lives[table] = log.new_table(name)
            self.lives[table].write(0, tokens_of(table))

    # -- tables ----------------------------------------------------------------------------------

    def life_of(self, table: BlockTable) -> TableLog:
        """The life of a table in the log; one not seen before begins with what it holds."""
        life = self.lives.get(table)
        if life is None:
            life = self.begin(table, tokens_of(table))
            self.log.patch(life, 0, table.physical_block_ids)
        return life

    def begin(self, table: BlockTable, tokens: list[int] | None = None) -> TableLog:
        """Begin the life of a table that has no blocks yet, or holds ``tokens`` from the start."""
        life = self.lives[table] = self.log.new_table(self._names.get(table, ""))
        self._begun.append(table)
        if tokens is not None:
            life.write(0, tokens)
            self.log.row(OPEN, b=life.number, d=len(tokens))
        return life

    def finish(self, table: BlockTable) -> None:
        """The table has given its blocks back."""
        if table in self.lives:
            self.log.row(CLOSE, b=self.lives.pop(table).number)

    def name(self, table: BlockTable) -> Name:
        """What the table is called: t0, t1, … until somebody gives it a name."""
        if table not in self._names:
            taken = set(self._names.values())
            while f"t{self._unnamed}" in taken:
                self._unnamed += 1
            self._names[table] = f"t{self._unnamed}"
        return self._names[table]

    def call(self, table: BlockTable, name: Name) -> None:
        """Give a table its name, for all of the run. UsageError if another table has it."""
        owner = next((t for t, its_name in self._names.items() if its_name == name), table)
        if owner is not table and owner in self.lives:
            raise UsageError(f"another table is called {name!r} already")
        old, self._names[table] = self._names.get(table), name
        if old is not None and old != name:
            self.log.rename(old, name)
        elif table in self.lives:
            self.lives[table].name = name

    # -- events ----------------------------------------------------------------------------------

    def run(
        self,
        kind: str,
        subject: Callable[[], Name | None],
        call: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Let ``call`` happen as one event, with the effects that are noted on the way."""
        first = len(self.rows)
        self.open = True
        try:
            result = call(*args, **kwargs)
        except BaseException as error:
            self.fail(first, kind, subject, error)
            raise
        finally:
            self.open = False
            self.writing = None
        self.close(kind, subject)
        return result

    def close(self, kind: str, subject: Callable[[], Name | None]) -> None:
        """The call has returned: its effects make an event."""
        for table in self._begun:
            if table in self.lives:
                self.lives[table].name = self.name(table)
        self._begun.clear()
        self.log.event(self.log.kind_code(kind), self.log.subject_code(subject()))

    def fail(
        self, first: int, kind: str, subject: Callable[[], Name | None], error: BaseException
    ) -> None:
        """The call has raised and was undone: nothing remains of it but that it failed."""
        log = self.log
        del self.rows[first:]
        for table in self._begun:
            self.lives.pop(table, None)
        self._begun.clear()
        name: Name | None = None
        with contextlib.suppress(AttributeError, TypeError):  # what was passed has no name
            name = subject()
        log.errors[len(log)] = (kind, str(error) or type(error).__name__)
        log.event(log.kind_code(FAILED), log.subject_code(name))

    def note_write(
        self, first: int, life: TableLog | None, block: int, start: int, count: int
    ) -> None:
        """Note a write among the numbers from ``first`` on: before what it led to.

        A block that became full is promoted after the write; if its content was cached already,
        it is returned after the write, and the cached one is hit.
        """
        rows = self.rows
        place = len(rows)
        if place > first and rows[place - ROW] == PROMOTE:
            place -= ROW
        elif place > first and rows[place - ROW] == HIT:
            place -= 2 * ROW
            block = rows[place + 1]
        number = -1 if life is None else life.number
        rows[place:place] = WRITE, block, number, start, count


def tokens_of(table: BlockTable) -> list[int]:
    """The tokens of a table; 0 for those that fell out of its window before anybody looked."""
    tokens = [token for block in table.blocks for token in block.token_ids]
    return [0] * (table.num_full_slots - len(tokens)) + tokens
