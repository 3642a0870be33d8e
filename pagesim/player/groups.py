"""The groups of layers in a file: for each its block size, its window, and how a picture calls it.

A request has a table per group, named ``"<request>@<group id>"``. A file with one group names none,
and there a table is its request's and nothing else. The player's ``js/groups.js`` does the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pagesim.files.jsonl import JsonObject
from pagesim.journal import state
from pagesim.journal.effects import Name
from pagesim.journal.state import FULL, MAMBA, WINDOW, name_parts

LETTERS = {FULL: "F", WINDOW: "W", MAMBA: "S"}


@dataclass(frozen=True)
class Group:
    """One of several groups: the tokens of a block, and what stands beside its tables."""

    block_size: int
    label: str
    letter: str
    kind: str

    @property
    def is_state(self) -> bool:
        """Whether a block holds a state instead of slots."""
        return self.kind == MAMBA


def groups_in(header: JsonObject) -> tuple[Group, ...]:
    """The groups that a header names; none if there is only one."""
    given = header.get("groups", ())
    letters = [LETTERS.get(each["kind"], each["kind"][:1].upper()) for each in given]
    found = []
    for at, (each, letter) in enumerate(zip(given, letters, strict=True)):
        nth = str(letters[: at + 1].count(letter)) if letters.count(letter) > 1 else ""
        kind, size = each["kind"], each["block_size"]
        label = state.Group(kind, size, each.get("sliding_window")).text
        found.append(Group(size, label, letter + nth, kind))
    return tuple(found) if len(found) > 1 else ()


def owner_of(name: Name, groups: Sequence[Group | state.Group]) -> Name:
    """Whose table it is: the request, or with one group the table itself."""
    found = name_parts(name) if groups else None
    if found is None:
        return name
    return int(found[0]) if found[0].isdecimal() else found[0]


def group_of(name: Name, groups: Sequence[Group]) -> Group | None:
    """The group of a table, or None with one group."""
    if not groups:
        return None
    _, group_id = name_parts(name) or (name, 0)
    return groups[group_id if group_id < len(groups) else 0]
