"""One recording in progress: which table is which in the log, and where its effects go."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from pagesim.effects import CACHE, CLOSE, FAILED, HIT, MAX_NAME, OPEN, TOKENS, WRITE, Name
from pagesim.errors import UsageError
from pagesim.state import TableState
from pagesim.timeline.log import ROW, Log, TableLog
from pagesim.v0.block.block_table import BlockTable
from pagesim.v0.block.undo import UndoLog
from pagesim.v0.block_manager import SelfAttnBlockSpaceManager

if TYPE_CHECKING:
    from pagesim.timeline.desk import Desk

TAPS: dict[UndoLog, Tap] = {}
"""The recordings in progress. The objects of one allocator share its undo log: that is the key."""


BEHIND = {
    "arrive": "add_seq_group",
    "finish": "free_finished_seq_groups",
    "abort": "abort_seq_group",
}
"""The calls behind a scheduler's decisions, as an event that failed names them."""


@dataclass(slots=True)
class Label:
    """What a table is called, the number of that name in the log, and the lives it names."""

    name: Name
    subject: int
    lives: list[TableLog] = field(default_factory=list)


class Tap:
    """Turns what the block layer does into the rows of a log.

    ``open`` says that an event is being recorded: calls inside of it are not events of their own.
    While tokens are written, ``writing`` says whose, ``position`` to ``end`` which are yet to come,
    and ``first`` is the first row of the write in progress. ``desk`` is there when a scheduler is
    recorded; ``freeing`` is asked before a manager frees a sequence.
    """

    def __init__(self, log: Log, known: Mapping[Name, BlockTable]) -> None:
        self.log = log
        self.listeners = 0
        self.open = False
        self.rows, self.subjects = log.open_rows, log.subject_codes
        self.writing: TableLog | None = None
        self.position = self.end = self.first = 0
        self.forked: BlockTable | None = None
        self.managers: set[SelfAttnBlockSpaceManager] = set()
        self.desk: Desk | None = None
        self.freeing: Callable[[int], None] | None = None
        self.lives: dict[BlockTable, TableLog] = {}
        self._labels: WeakKeyDictionary[BlockTable, Label] = WeakKeyDictionary()
        self._owners: WeakValueDictionary[Name, BlockTable] = WeakValueDictionary()
        self._begun: list[tuple[BlockTable, TableLog]] = []
        self._unnamed = 0
        for name, table in known.items():
            self._know(name, table)

    # -- tables ----------------------------------------------------------------------------------

    def life_of(self, table: BlockTable) -> TableLog:
        """The life of a table in the log; one not seen before begins with what it holds."""
        life = self.lives.get(table)
        if life is None:
            life = self.begin(table, tokens_of(table))
            self.log.patch(life, 0, table.physical_block_ids)
        return life

    def begin(self, table: BlockTable, tokens: list[int]) -> TableLog:
        """Begin the life of a table that holds ``tokens`` from the start."""
        life = self.lives[table] = self.log.new_table("")
        self._begun.append((table, life))
        life.write(0, tokens)
        self.log.row(OPEN, len(tokens), life.number, d=len(tokens))
        return life

    def finish(self, table: BlockTable) -> None:
        """The table has given its blocks back."""
        if table in self.lives:
            self.log.row(CLOSE, b=self.lives.pop(table).number)

    def meet(self, manager: SelfAttnBlockSpaceManager) -> None:
        """Learn what a manager calls the tables that it had before its allocator was recorded."""
        self.managers.add(manager)
        for seq_id, table in manager.block_tables.items():
            if table not in self._labels:
                self.call_sequence(table, seq_id)

    def include(self, known: Mapping[Name, BlockTable], states: Mapping[Name, TableState]) -> None:
        """Add tables to the state in which the log begins.

        Nothing has happened to them since then, or their lives would have begun.
        """
        log = self.log
        added = {name: table for name, table in known.items() if table not in self.lives}
        tables = {**log.start.tables, **{name: states[name] for name in added}}
        log.begin(replace(log.start, tables=tables))
        for name, table in added.items():
            self._free_name(name)
            log.first_lives.append(self._know(name, table).number)

    def name(self, table: BlockTable) -> Name:
        """What the table is called: t0, t1, … until somebody gives it a name.

        A name that another table was given in the meantime is not its own any more.
        """
        label = self._labels.get(table)
        if label is None or self._owners.setdefault(label.name, table) is not table:
            while (fresh := f"t{self._unnamed}") in self._owners:
                self._unnamed += 1
            self._unnamed += 1
            return self._give(table, fresh).name
        self.subjects[label.name] = label.subject
        return label.name

    def call(self, table: BlockTable, name: Name) -> None:
        """Give a table its name, for all of the run. UsageError if another table has it."""
        owner = self._owners.get(name, table)
        if owner is not table and owner in self.lives:
            raise UsageError(f"another table is called {name!r} already")
        label = self._labels.get(table)
        if label is None or self._owners.get(label.name) is not table:
            self._give(table, name)
        elif label.name != name:
            del self._owners[label.name]
            label.name, self._owners[name] = name, table
            self.log.subjects[label.subject], self.subjects[name] = name, label.subject
            for life in label.lives:
                life.name = name

    def call_sequence(self, table: BlockTable, seq_id: Name) -> None:
        """Give a manager's table the id of its sequence, whoever was given that as a label."""
        self._free_name(seq_id)
        self.call(table, seq_id)

    def _free_name(self, name: Name) -> None:
        owner = self._owners.get(name)
        if owner is not None and owner in self.lives:
            while (fresh := f"t{self._unnamed}") in self._owners:
                self._unnamed += 1
            self.call(owner, fresh)

    def _give(self, table: BlockTable, name: Name) -> Label:
        label = self._labels[table] = Label(name, self.log.new_subject(name))
        self._owners[name] = table
        return label

    def _know(self, name: Name, table: BlockTable) -> TableLog:
        life = self.lives[table] = self.log.new_table(name)
        self._give(table, name).lives.append(life)
        life.write(0, tokens_of(table))
        return life

    def write(self, life: TableLog, start: int, tokens: list[int]) -> None:
        """The tokens of a table from position ``start`` on."""
        life.write(start, tokens)
        if tokens:
            self.log.row(TOKENS, b=life.number, c=start, d=len(tokens))

    def list_of(self, block: int, what: str) -> int:
        """The number of the "free list" or the "evictor" that a block belongs to."""
        return self.log.lists.index(f"{self.log.start.pool_of(block)} {what}")

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
        for table, life in self._begun:
            life.name = self.name(table)
            self._labels[table].lives.append(life)
        self._begun.clear()
        self.log.event(self.log.kind_code(kind), self.log.subject_code(subject()))

    def fail(
        self, first: int, kind: str, subject: Callable[[], Name | None], error: BaseException
    ) -> None:
        """The call has raised and was undone: nothing remains of it but that it failed."""
        log = self.log
        del self.rows[first:]
        for table, _ in self._begun:
            self.lives.pop(table, None)
        self._begun.clear()
        name: Name | None = None
        with contextlib.suppress(AttributeError, TypeError):  # what was passed has no name
            name = subject()
        why = (str(error) or type(error).__name__).encode(errors="backslashreplace").decode()
        log.errors[len(log)] = (BEHIND.get(kind, kind), why[:MAX_NAME])
        log.event(log.kind_code(FAILED), log.subject_code(name))

    def mark(self) -> Mark:
        """A place between two events to come back to with :meth:`cut`."""
        return self.log.mark(), self.lives.copy()

    def cut(self, mark: Mark) -> None:
        """Forget the events since ``mark``: what they told of was taken back."""
        recorded, self.lives = mark
        self.log.cut(recorded)

    def note_write(
        self, first: int, life: TableLog | None, block: int, start: int, count: int
    ) -> None:
        """Note a write among the numbers from ``first`` on: before what it led to.

        A block that became full is promoted after the write; if its content was cached already,
        it is returned after the write, and the cached one is hit.
        """
        rows = self.rows
        place = len(rows)
        if place > first and rows[place - ROW] == CACHE:
            place -= ROW
        elif place > first and rows[place - ROW] == HIT:
            place -= 2 * ROW
            block = rows[place + 1]
        number = -1 if life is None else life.number
        rows[place:place] = WRITE, block, number, start, count


Mark = tuple[tuple[int, int, int, int], dict[BlockTable, TableLog]]


def tokens_of(table: BlockTable) -> list[int]:
    """The tokens of a table; 0 for those that fell out of its window before anybody looked."""
    tokens = [token for block in table.blocks for token in block.token_ids]
    return [0] * (table.num_full_slots - len(tokens)) + tokens
