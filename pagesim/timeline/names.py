"""What the tables of a recording are called: t0, t1, … until they get a name."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count
from weakref import WeakKeyDictionary, WeakValueDictionary

from pagesim.errors import UsageError
from pagesim.journal.effects import Name

Rename = Callable[[Hashable, Name, Name, int], None]


@dataclass(slots=True)
class Label:
    """What a table is called, what stands for it in rows, and since which event."""

    key: Hashable
    name: Name
    since: int


class Names:
    """The names of tables and sequences. A table loses its name when another is given the same one.

    ``is_live`` says whether a table exists: until it ends it keeps its name from others, but not
    from a manager's table, which has the id of its sequence. Rows have keys instead of names: the
    first name, or if another table began with that one, something else. ``rename`` is told when the
    two differ: of key, old name, new name, and the event since which it holds.
    """

    def __init__(self, is_live: Callable[[Hashable], bool], rename: Rename) -> None:
        self._is_live, self._rename = is_live, rename
        self._labels: dict[Name | None, Label] = {}
        """By the names that they have, and had."""
        self._renamed: set[Hashable] = set()
        """The keys whose tables have other names by now."""
        self._of: WeakKeyDictionary[Hashable, Label] = WeakKeyDictionary()
        self._owners: WeakValueDictionary[Name, Hashable] = WeakValueDictionary()
        self._numbers = count()

    def key(self, name: Name | None) -> Hashable:
        """What stands for the sequence or table that was last called so; None for None."""
        label = self._labels.get(name)
        return name if label is None else label.key

    def of(self, table: Hashable, now: int) -> Hashable:
        """What stands for a table; it gets a name from event ``now`` on if it has none."""
        label = self._of.get(table)
        if label is None or self._owners.setdefault(label.name, table) is not table:
            return self.give(table, self._fresh(), now)
        self._labels[label.name] = label
        return label.key

    def has(self, table: Hashable) -> bool:
        """Whether a table has ever been given a name."""
        return table in self._of

    def give(self, table: Hashable, name: Name, now: int) -> Hashable:
        """Name a table from event ``now`` on, even if another one is called so; its key."""
        key: Hashable = name
        while key in self._renamed:
            key = (key,)
        self._of[table] = self._labels[name] = label = Label(key, name, now)
        self._owners[name] = table
        if key != name:
            self._change(label, name)
        return key

    def _change(self, label: Label, name: Name) -> None:
        self._renamed.add(label.key)
        self._rename(label.key, label.name, name, label.since)
        label.name = name

    def call(self, table: Hashable, name: Name, now: int) -> None:
        """Name a table, for all its events. UsageError if another one is called so."""
        owner = self._owners.get(name, table)
        if owner is not table and self._is_live(owner):
            raise UsageError(f"another table is already called {name!r}")
        label = self._of.get(table)
        if label is None or self._owners.get(label.name) is not table:
            self.give(table, name, now)
        elif label.name != name:
            del self._owners[label.name]
            self._change(label, name)
            self._labels[name], self._owners[name] = label, table

    def take(self, table: Hashable, name: Name, now: int) -> None:
        """Name a table after its sequence, even if another table has that label."""
        if self._owners.get(name) is not table:
            self.free(name, now)
        self.call(table, name, now)

    def free(self, name: Name, now: int) -> None:
        """If a living table is called so, it gets another name."""
        owner = self._owners.get(name)
        if owner is not None and self._is_live(owner):
            self.call(owner, self._fresh(), now)

    def _fresh(self) -> str:
        return next(name for i in self._numbers if (name := f"t{i}") not in self._owners)
