"""What every picture of a cache asks of a state: a block's owners, fill, words and colours."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.journal.state import Queues, State, TableState
from pagesim.player.colors import color_of, names_in, places
from pagesim.player.groups import Group, group_of, groups_in, owner_of
from pagesim.player.tiers import Tier, tier_in


@dataclass(frozen=True)
class CacheView:
    """A state whose tables have names, and places that determine their colours."""

    state: State
    tables: Mapping[Name, TableState]
    places: Mapping[Name, int]
    token_words: Mapping[int, str]
    """A run's own texts for its tokens."""
    groups: tuple[Group, ...] = ()
    """The groups of layers, if there are several: then a request has a table in each."""
    tier: Tier | None = None
    """The CPU pool as a second tier: then its blocks are in no table."""

    @classmethod
    def of(cls, header: JsonObject, state: JsonObject) -> "CacheView":
        """A state of the format: see ``pagesim/timeline/FORMAT.md``."""
        size, null = header["block_size"], state.get("null")
        lists = [name for name, _ in header["lists"]]
        groups = groups_in(header)
        tables = {
            name: _table(group_of(name, groups), size, null, *row) for name, *row in state["tables"]
        }
        found = State(
            block_size=size,
            pools=dict(header["pools"]),
            caching=header["caching"],
            tables=tables,
            ref_counts=dict(state["refs"]),
            lists=dict(zip(lists, map(tuple, state["lists"]), strict=True)),
            cached=frozenset(state["cached"]),
            computed=frozenset(state["computed"]),
            null_block=null,
            queues=Queues(zip(header["queues"], map(tuple, state["queues"]), strict=True)),
            requests={
                request: owner_of(first, groups) for request, first in state.get("requests", ())
            },
            sorted_lists=frozenset(name for name, order in header["lists"] if order == "sorted"),
        )
        words = {int(token): text for token, text in header.get("tokens", {}).items()}
        names = names_in(header, state)
        owners = places(owner_of(name, groups) for name in names)
        found_places = {name: owners[owner_of(name, groups)] for name in names}
        return cls(found, tables, owners | found_places, words, groups, tier_in(header, state))

    @property
    def block_size(self) -> int:
        """Slots of a block: of several groups the most, where a block holds tokens."""
        sizes = [group.block_size for group in self.groups if not group.is_state]
        return max(sizes, default=self.state.block_size)

    def size_of(self, block_id: int) -> int:
        """Slots of this block: those of the group that has it."""
        group = self.group_of(block_id)
        return self.block_size if group is None else group.block_size

    def group_of(self, block_id: int) -> Group | None:
        """The group whose table has a block; None if none has, or there is only one group."""
        names = self.owners.get(block_id) if self.groups else None
        is_null = block_id == self.state.null_block
        return group_of(names[0], self.groups) if names and not is_null else None

    def owner(self, name: Name) -> Name:
        """Whose table it is, under the name by which a reader knows it."""
        return owner_of(name, self.groups)

    @cached_property
    def requests(self) -> dict[Name, dict[Name, TableState]]:
        """The tables of each request, by their names."""
        found: dict[Name, dict[Name, TableState]] = {}
        for name, table in self.tables.items():
            found.setdefault(self.owner(name), {})[name] = table
        return found

    @cached_property
    def states(self) -> dict[int, int]:
        """Block id → after how many tokens it has the state."""
        found = {}
        for name, table in self.tables.items():
            group = group_of(name, self.groups)
            if group is None or not group.is_state:
                continue
            for k, block_id in enumerate(table.block_ids):
                if table.fill[k]:
                    found[block_id] = min((k + 1) * group.block_size, table.num_slots)
        return found

    @cached_property
    def pools(self) -> dict[str, range]:
        """The ids of each pool that has blocks, by its name."""
        found, first = {}, 0
        for name, count in self.state.pools.items():
            found[name] = range(first, first + count)
            first += count
        return {name: ids for name, ids in found.items() if ids}

    @cached_property
    def owners(self) -> dict[int, list[Name]]:
        """Block id → the names of the sequences whose table holds it, in table order."""
        found: dict[int, list[Name]] = {}
        for name, table in self.tables.items():
            for block_id in dict.fromkeys(table.block_ids):
                found.setdefault(block_id, []).append(name)
        return found

    @cached_property
    def fill(self) -> dict[int, int]:
        """Block id → how many of its slots hold tokens (not every sharer need have all)."""
        most: dict[int, int] = {}
        for table in self.tables.values():
            for block_id, count in zip(table.block_ids, table.fill, strict=True):
                most[block_id] = max(most.get(block_id, 0), count)
        return most

    def is_pending(self, block_id: int) -> bool:
        """Whether a block is promised what is still being copied."""
        return self.tier is not None and block_id in self.tier.pending

    def _word(self, token: int) -> str:
        """A token as it is shown; nobody knows one below 0, such as a simulated request's."""
        return self.token_words.get(token, str(token) if token >= 0 else "·")

    @cached_property
    def words(self) -> dict[int, list[str]]:
        """Block id → the texts of its tokens, "?" for one that is not known yet."""
        found: dict[int, list[str]] = {}
        for name, table in self.tables.items():
            for index, block_id in enumerate(table.block_ids):
                if block_id in self.states:
                    continue
                count = table.fill[index]
                if block_id not in found or count >= len(found[block_id]):
                    known = self.tokens(name, index)
                    texts = [self._word(token) for token in known]
                    found[block_id] = texts + ["?"] * (count - len(texts))
        return found

    @cached_property
    def waiting(self) -> frozenset[int]:
        """The ids on any list: free, or cached and evictable."""
        return frozenset(block_id for ids in self.state.lists.values() for block_id in ids)

    def shared(self) -> list[int]:
        """The ids with more than one reference, ascending."""
        return sorted(block for block, count in self.state.ref_counts.items() if count > 1)

    def held(self) -> list[int]:
        """The ids that are in no table and on no list: the null block, a block of no sequence."""
        known = self.waiting | self.owners.keys()
        return [block for block in range(self.state.num_blocks) if block not in known]

    def is_away(self, block_id: int) -> bool:
        """Whether a block is not in the first pool, in which the model computes."""
        return block_id not in next(iter(self.pools.values()))

    def color(self, name: Name) -> str:
        """The colour of a sequence, as ``#RRGGBB``."""
        return color_of(self.places[name])

    def tokens(self, name: Name, index: int) -> tuple[int, ...]:
        """The tokens known of one block of a table, oldest first."""
        group = group_of(name, self.groups)
        table, start = self.tables[name], index * (group or self.state).block_size
        return table.token_ids[start : start + table.fill[index]]


def _table(
    group: Group | None,
    size: int,
    null: int | None,
    ids: list[int],
    tokens: list[int],
    *written: int,
) -> TableState:
    """A table whose blocks have the size of its group; a block with a state is full."""
    size = size if group is None else group.block_size
    table = TableState.of(tuple(ids), tuple(tokens), size, null, *written)
    if group is None or not group.is_state:
        return table
    return replace(table, fill=tuple(size * bool(count) for count in table.fill))
