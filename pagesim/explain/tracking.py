"""A run while it is read: its pages, the tokens that are known, and what is cached."""

from collections import Counter
from collections.abc import Sequence

from pagesim.explain.contents import Contents, Key
from pagesim.explain.history import History, Life
from pagesim.journal import effects as fx
from pagesim.journal.effects import Name, Row
from pagesim.timeline import Timeline
from pagesim.timeline.events import Entry, Event
from pagesim.timeline.log import Log
from pagesim.timeline.pages import Pages


class Tracking:
    """The pages of a run as they are by now, and the contents of its history."""

    def __init__(self, run: Timeline) -> None:
        start, asked = run.at(0), run.asked
        self.pages = Pages.from_start(Log(start))
        self.history = History(start, asked.settings, Contents(start.block_size))
        self.history.has_window = asked.settings.get("sliding_window") is not None
        self.is_caching = start.caching and not start.groups
        self._gpu = [name for name in start.lists if not name.startswith("CPU")]
        self._keys: dict[Name, list[Key]] = {}
        self._place: dict[int, tuple[Name, int]] = {}
        """Where each block was written or found last: its table, and its number there."""
        self._closed: dict[Name, Sequence[int]] = {}
        """The tokens of tables that have ended, until their requests begin again."""
        self._all: dict[Name, list[int]] = {}
        """All that is ever known of the tokens of a table: those who wait have them already."""
        self._reused: set[Name] = set()
        """Names of tables whose tokens change: two requests had them."""
        self.arrivals: Counter[Name] = Counter()

    def learn(self, entry: Entry) -> None:
        """Learn what an event tells of requests and tokens, before anything else is read."""
        for row in entry[3:]:
            if row[0] == fx.ENTER and entry[0] == "arrive":
                self.arrivals[row[3]] += 1
            if row[0] not in (fx.OPEN, fx.TOKENS) or not self.is_caching:
                continue
            _, table, first, *tokens = row
            known = self._all.setdefault(table, [])
            at = 0 if row[0] == fx.OPEN else first
            if known[at : at + len(tokens)] != tokens[: max(len(known) - at, 0)]:
                self._reused.add(table)
            if at <= len(known) < at + len(tokens):
                known[at:] = tokens

    def apply(self, row: Row, number: int, by: Name) -> None:
        """Carry out a row of an event, which ``by`` has caused."""
        kind, *what = row
        if kind == fx.CLOSE:
            self._closed[what[0]] = self.tokens(what[0])
            self._keys.pop(what[0], None)
        elif kind == fx.EVICT:
            self.history.contents.evict(what[0], number, by)
        elif kind == fx.NULL and what[2] is not None:
            self.history.has_window = True
        elif kind in (fx.WRITE, fx.HIT) and what[1] is not None:
            self._place[what[0]] = what[1], what[2] // self.history.start.block_size
        self.pages.apply(row)

    def tokens(self, table: Name) -> Sequence[int]:
        """The tokens of a table that are known by now, or when it ended."""
        if table in self.pages.tables:
            return self.pages.tokens[table][: self.pages.num_tokens[table]]
        return self._closed.get(table, ())

    def num_tokens(self, table: Name) -> int:
        """How many tokens of a table are known by now, or when it ended."""
        known = self.pages.num_tokens.get(table)
        return len(self._closed.get(table, ())) if known is None else known

    def all_tokens(self, life: Life) -> Sequence[int]:
        """All that is known of a request's tokens, from whatever part of the run."""
        if life.table is None:
            return ()
        now = self.tokens(life.table)
        return now if life.table in self._reused else self._all.get(life.table, now)

    def cached(self, event: Event, number: int) -> None:
        """Note the blocks of the GPU that an event has cached."""
        contents, gpu = self.history.contents, range(self.history.start.num_gpu_blocks)
        for effect in event.effects if self.is_caching else ():
            if effect.kind != fx.CACHE or effect.block not in self._place:
                continue
            table, index = self._place[effect.block]
            keys = contents.extend(self._keys.setdefault(table, []), self.tokens(table))
            if index < len(keys) and effect.block in gpu:
                contents.cache(effect.block, keys[index], number)

    def count_copies(self, number: int) -> None:
        """Count owned blocks whose content another owned block has too."""
        contents, refs = self.history.contents, self.pages.refs
        if len(contents.now) - contents.num_distinct <= self.history.most_copies[0]:
            return
        owned = [key for block, (key, _) in contents.now.items() if refs[block]]
        copies = len(owned) - len(set(owned))
        self.history.most_copies = max(self.history.most_copies, (copies, number))

    def free(self) -> int:
        """How many blocks of the GPU can be taken."""
        lists = self.pages.lists
        return sum(len(lists[name].front) + len(lists[name].back) for name in self._gpu)
