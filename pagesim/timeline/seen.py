"""A run read once, for its title: its rows by kind, and the most that was held or ran at a time."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from pagesim.journal.effects import CLOSE, ENTER, HIT, LEAVE, NULL, OPEN, PATCH, Name, Row
from pagesim.journal.state import State
from pagesim.player.groups import owner_of
from pagesim.timeline.file import Run

ARRIVALS = ("admit", "load", "allocate", "allocate_slots")
"""The events in which a prompt gets its first blocks."""


class Seen:
    """What a run shows: ``rows`` by kind, each with the number of its event.

    ``requests`` are those of a scheduler, and ``num_running`` the most that run at a time.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.start, self.held = run, run.at(0), Held(run.at(0))
        self.rows: defaultdict[str, list[tuple[int, Row]]] = defaultdict(list)
        self.events: list[tuple[str, Name | None]] = []
        self.requests = {name for queue in self.start.queues.values() for name in queue}
        running = self.num_running = len(self.start.queues.get("running", ()))
        for at, (kind, subject, _, *rows) in enumerate(run.entries()):
            self.events.append((kind, subject))
            for row in rows:
                self.rows[row[0]].append((at, row))
                if row[0] in (ENTER, LEAVE):
                    self.requests.add(row[3])
                    running += (row[1] == "running") * (1 if row[0] == ENTER else -1)
                else:
                    self.held.read(row)
            self.held.compare(at + 1)
            self.num_running = max(self.num_running, running)

    @property
    def finds(self) -> Iterator[tuple[Name, int]]:
        """Who finds blocks of a prompt in the cache, and in which event."""
        for at, (_, _, table, _, count) in self.rows[HIT]:
            kind, subject = self.events[at]
            if kind in ARRIVALS and table is not None and count:
                yield table if subject is None else subject, at


class Held:
    """The blocks of the GPU that tables hold: ``most`` of ``num_blocks`` at a time.

    ``saved`` is how many more they would hold, at most, if each table had its own, and ``best``
    the number of the last state in which it is so.
    """

    def __init__(self, start: State) -> None:
        self.most = self.saved = self.best = self._now = self._extra = 0
        self.sequences: dict[Name, None] = {}
        self._pool, self._null = next(iter(start.pools.values()), 0), start.null_block
        self.num_blocks = self._pool - (self._null is not None)
        self._groups = start.groups
        self._tables: defaultdict[Name, list[int]] = defaultdict(list)
        self._owners: Counter[int] = Counter()
        for name, table in start.tables.items():
            self._put(name, 0, table.block_ids)
        self.compare(0)

    def __contains__(self, block: int) -> bool:
        """Whether a block takes room on the GPU; the null block does not."""
        return block < self._pool and block != self._null

    def read(self, row: Row) -> None:
        """After this row, a table may hold other blocks."""
        if row[0] == PATCH:
            self._put(row[1], row[2], row[3:])
        elif row[0] in (OPEN, CLOSE):
            self._put(row[1], 0, ())
        elif row[0] == NULL and row[2] is None:
            self._null = row[1]

    def compare(self, step: int) -> None:
        """After these rows, the tables are those of a state."""
        self.most = max(self.most, self._now)
        if self._extra and self._extra >= self.saved:
            self.saved, self.best = self._extra, step

    def owner(self, table: Name) -> Name:
        """Whose table it is, of all that a request has in several KV cache groups."""
        return owner_of(table, self._groups)

    def of(self, state: State) -> tuple[int, int]:
        """How many sequences hold how many blocks in a state."""
        held = {
            name: set(filter(self.__contains__, t.block_ids)) for name, t in state.tables.items()
        }
        owners = {self.owner(name) for name, blocks in held.items() if blocks}
        return len(owners), len(set().union(*held.values()))

    def _put(self, table: Name, first: int, ids: Iterable[int]) -> None:
        """From an entry on, a table holds these blocks."""
        self.sequences.setdefault(self.owner(table))
        entries = self._tables[table]
        for block in filter(self.__contains__, entries[first:]):
            self._owners[block] -= 1
            self._extra -= self._owners[block] > 0
            self._now -= self._owners[block] == 0
        entries[first:] = ids
        for block in filter(self.__contains__, entries[first:]):
            self._extra += self._owners[block] > 0
            self._now += self._owners[block] == 0
            self._owners[block] += 1
