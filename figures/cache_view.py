"""What a picture of a cache needs from a `pagesim.State`: a block's owners, fill and colours."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pagesim.errors import UsageError
from pagesim.figures import style
from pagesim.figures.sources import cannot, is_path, read
from pagesim.journal.effects import Name
from pagesim.journal.state import State, TableState
from pagesim.player.colors import places
from pagesim.simulation import Simulation
from pagesim.timeline import Timeline

CACHES = (
    "a block manager, a scheduler, a Timeline, a State (run.at(i)), a Simulation with record=True, "
    "or the path of a timeline"
)


@dataclass(frozen=True)
class CacheView:
    """A state whose tables have labels, and places that determine their colours."""

    state: State
    tables: Mapping[str, TableState]
    places: Mapping[str, int]
    token_words: Mapping[int, str]
    """A run's own texts for its tokens."""

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

    def hatch(self, block_id: int) -> str:
        """None for the first pool, in which the model computes; a hatch for all others."""
        return "" if block_id in next(iter(self.pools.values())) else style.CPU_HATCH

    @cached_property
    def owners(self) -> dict[int, list[str]]:
        """Block id → the labels of the sequences whose table holds it, in table order."""
        found: dict[int, list[str]] = {}
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

    def color(self, name: str) -> str:
        """The colour of a sequence, as ``#RRGGBB``."""
        return style.color_of(self.places[name])

    def tokens(self, name: str, index: int) -> tuple[int, ...]:
        """The tokens known of one block of a table, oldest first."""
        table, start = self.tables[name], index * self.block_size
        return table.token_ids[start : start + table.fill[index]]

    def checked(self, block_ids: Iterable[int]) -> frozenset[int]:
        """The ids as a set. UsageError for one that is in no pool."""
        ids, total = frozenset(block_ids), self.state.num_blocks
        for block_id in ids:
            if not 0 <= block_id < total:
                raise UsageError(f"highlight: block {block_id} is not in 0..{total - 1}")
        return ids


def cache_view(
    source: Any,
    *,
    step: int = -1,
    names: Mapping[Name, str] | None = None,
    order: Iterable[Name] | None = None,
) -> CacheView:
    """Look at a cache: a manager or scheduler as it is, a state, or a run after ``step`` events.

    `names` gives sequences short labels (their id → the label), and their order; without it the id
    0 is ``s0`` and a string is its own label. Colours go by `order`, in which the sequences first
    appeared (a run knows its own), else by `names`, else by the tables. TypeError when `source` is
    not a cache, UsageError for a run without pages, two sequences with one label, or a step that
    does not exist.
    """
    if isinstance(source, CacheView):
        return source
    if is_path(source):
        found = read(source)
        if not isinstance(found, Timeline):
            raise UsageError(f"{source} holds no pages: record a run, and run.save() it")
        source = found
    if isinstance(source, Simulation):
        if source.timeline is None:
            raise UsageError(f"{source!r} recorded no pages: simulate(…, record=True)")
        source = source.timeline
    words: Mapping[int, str] = {}
    if isinstance(source, Timeline):
        if not -len(source) - 1 <= step <= len(source):
            raise UsageError(f"step {step} is not in this run: it has the steps 0 to {len(source)}")
        order = source.sequences if order is None else order
        state, words = source.at(step), source.notes.tokens or {}
    else:
        if not isinstance(source, State) and not hasattr(source, "state"):
            raise cannot("a picture of pages", source, CACHES)
        state = source if isinstance(source, State) else source.state()
    named = dict(names or {})
    keys = [key for key in named if key in state.tables]
    keys += [key for key in state.tables if key not in named]
    placed = places([*(named if order is None else order), *state.tables])
    labels = {key: named.get(key, f"s{key}" if isinstance(key, int) else key) for key in keys}
    if len({*labels.values()}) < len(labels):
        raise UsageError(f"two sequences share a label: {list(labels.values())}")
    return CacheView(
        state,
        {label: state.tables[key] for key, label in labels.items()},
        {label: placed[key] for key, label in labels.items()},
        words,
    )
