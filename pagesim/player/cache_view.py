"""What every picture of a cache asks of a state: a block's owners, fill, words and colours."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pagesim.files.jsonl import JsonObject
from pagesim.journal.effects import Name
from pagesim.journal.state import Queues, State, TableState
from pagesim.player.colors import color_of, names_in, places


@dataclass(frozen=True)
class CacheView:
    """A state whose tables have names, and places that determine their colours."""

    state: State
    tables: Mapping[Name, TableState]
    places: Mapping[Name, int]
    token_words: Mapping[int, str]
    """A run's own texts for its tokens."""

    @classmethod
    def of(cls, header: JsonObject, state: JsonObject) -> "CacheView":
        """A state of the format: see ``pagesim/timeline/FORMAT.md``."""
        size, null = header["block_size"], state.get("null")
        lists = [name for name, _ in header["lists"]]
        tables = {
            name: TableState.of(tuple(ids), tuple(tokens), size, null, *written)
            for name, ids, tokens, *written in state["tables"]
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
            requests=dict(state.get("requests", ())),
            sorted_lists=frozenset(name for name, order in header["lists"] if order == "sorted"),
        )
        words = {int(token): text for token, text in header.get("tokens", {}).items()}
        return cls(found, tables, places(names_in(header, state)), words)

    @property
    def block_size(self) -> int:
        """Slots of a block."""
        return self.state.block_size

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

    @cached_property
    def words(self) -> dict[int, list[str]]:
        """Block id → the texts of its tokens, "?" for one that is not known yet."""
        found: dict[int, list[str]] = {}
        for name, table in self.tables.items():
            for index, block_id in enumerate(table.block_ids):
                count = table.fill[index]
                if block_id not in found or count >= len(found[block_id]):
                    known = self.tokens(name, index)
                    texts = [self.token_words.get(token, str(token)) for token in known]
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
        table, start = self.tables[name], index * self.block_size
        return table.token_ids[start : start + table.fill[index]]
