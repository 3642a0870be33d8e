"""The state of the pages at one moment, in terms that fit every engine."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pagesim.journal.effects import Name

KINDS = FULL, WINDOW, MAMBA = "full", "window", "mamba"
"""What a group's layers are: full attention, a sliding window, or states."""


@dataclass(frozen=True, slots=True)
class TableState:
    """One block table, with its blocks, its tokens, and the number of slots written in each block.

    ``token_ids`` are the tokens known so far, from position 0 on. ``fill`` has an entry for each
    block: the number of its slots that are written, which is 0 for a reserved block and for the
    null block. ``num_slots`` is the number of written positions. V0 knows a token when its slot is
    written. V1 may schedule a step before a token of that step is sampled; the token then becomes
    known later than its slot. A table of states has no slots: its ``fill`` is 0 everywhere, and
    ``num_slots`` is the number of positions that the last state covers.
    """

    block_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    fill: tuple[int, ...]
    num_slots: int

    @classmethod
    def of(
        cls,
        block_ids: tuple[int, ...],
        token_ids: tuple[int, ...],
        block_size: int,
        null_block: int | None = None,
        num_slots: int | None = None,
    ) -> TableState:
        """Make the state of a table; ``num_slots`` defaults to the number of its tokens."""
        count = len(token_ids) if num_slots is None else num_slots
        fill = fill_of(block_ids, count, block_size, null_block)
        return cls(block_ids, token_ids, fill, count)

    @property
    def num_tokens(self) -> int:
        """The number of tokens known so far."""
        return len(self.token_ids)


@dataclass(frozen=True, slots=True)
class Group:
    """A KV cache group: layers of one ``kind`` ("full", "window" or "mamba") that share tables.

    A group of kind "mamba" has a state for each block, and nothing in slots.
    """

    kind: str
    block_size: int
    sliding_window: int | None = None

    @property
    def text(self) -> str:
        """What the group is called under a picture: "full", "window 128" or "state"."""
        if self.kind == WINDOW:
            return f"window {self.sliding_window}"
        return self.word

    @property
    def word(self) -> str:
        """The kind in a word: "full", "window" or "state"."""
        return "state" if self.kind == MAMBA else self.kind

    def table(
        self,
        block_ids: tuple[int, ...],
        token_ids: tuple[int, ...],
        null_block: int | None = None,
        num_slots: int | None = None,
    ) -> TableState:
        """The state of a table of this group."""
        if self.kind != MAMBA:
            return TableState.of(block_ids, token_ids, self.block_size, null_block, num_slots)
        count = len(token_ids) if num_slots is None else num_slots
        return TableState(block_ids, token_ids, (0,) * len(block_ids), count)


def table_name(request: Name, group_id: int) -> str:
    """The name of a request's table in one of several groups."""
    return f"{request}@{group_id}"


def name_parts(name: Name) -> tuple[str, int] | None:
    """The request and the group of a table that :func:`table_name` has named; None for another."""
    request, at, number = str(name).rpartition("@")
    is_number = number.isascii() and number.isdecimal() and len(number) < 9
    return (request, int(number)) if at and is_number else None


class Queues(dict[str, tuple[Name, ...]]):
    """A scheduler's queues by name, front first: ``queues["waiting"]`` or ``queues.waiting``."""

    def __getattr__(self, name: str) -> tuple[Name, ...]:
        if name in self:
            return self[name]
        raise AttributeError(f"there is no queue {name!r}: there are {list(self)}")

    def __reduce__(self) -> Any:
        return Queues, (dict(self),)


@dataclass(frozen=True, slots=True)
class Tier:
    """The pool "CPU" as a second tier, whose chunks of blocks leave by a policy: "lru" or "arc"."""

    blocks_per_chunk: int
    policy: str


class Job(NamedTuple):
    """A copy between the GPU and the second tier, made for a request: a "store" or a "load".

    ``blocks`` are pairs (from, to).
    """

    job: int
    kind: str
    request: Name
    blocks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class State:
    """Tables, pools, lists and queues at one moment.

    ``pools`` maps the name of each pool to its size; block ids are numbered across all pools, from
    0 in the first one. ``ref_counts`` has a count for every block, which is 0 for a block without
    owners. ``lists`` are the lists in which blocks without owners wait, front first; those named in
    ``sorted_lists`` keep their blocks in the order of the ids. ``cached`` are the blocks that can
    be found by content, and ``computed`` the blocks, owned or cached, whose keys and values exist.
    ``requests`` names the first sequence of each request in the queues.

    With several KV cache ``groups`` a request has a table in each of them, "r1@0", "r1@1" and so
    on; the first one stands for its first sequence. ``block_size`` is the largest of the groups'.

    ``tier`` says that the pool "CPU" is V1's second tier; ``jobs`` are the copies under way.

    Pools, lists and queues have names, and are shown in the order of their mappings. V0 has "GPU"
    and "CPU", "GPU free list", "GPU evictor", … and "waiting", "running", "swapped".
    """

    block_size: int
    pools: Mapping[str, int]
    caching: bool
    tables: Mapping[Name, TableState]
    ref_counts: Mapping[int, int]
    lists: Mapping[str, tuple[int, ...]]
    cached: frozenset[int] = frozenset()
    computed: frozenset[int] = frozenset()
    null_block: int | None = None
    queues: Queues = field(default_factory=Queues)
    requests: Mapping[Name, Name] = field(default_factory=dict)
    sorted_lists: frozenset[str] = frozenset()
    groups: tuple[Group, ...] = ()
    """Empty unless there are several."""
    tier: Tier | None = None
    jobs: tuple[Job, ...] = ()
    live: Mapping[Name, Hashable] = field(default_factory=dict, compare=False, repr=False)
    """The tables as the rows of a journal name them, for its recorder."""

    @property
    def is_contiguous(self) -> bool:
        """Whether requests hold slots in a row, as before paging: then there are no blocks."""
        return next(iter(self.lists), None) in self.sorted_lists

    @property
    def num_blocks(self) -> int:
        """The number of blocks in all pools."""
        return sum(self.pools.values())

    def group_of(self, table: Name) -> Group:
        """Return the KV cache group of a table. KeyError if there is none of its name."""
        if not self.groups:
            return Group(FULL, self.block_size)
        parts = name_parts(table)
        if parts is None or parts[1] >= len(self.groups):
            raise KeyError(table)
        return self.groups[parts[1]]

    def pool_of(self, block: int) -> str:
        """Return the name of the pool that a block belongs to."""
        end = 0
        for name, size in self.pools.items():
            end += size
            if block < end:
                return name
        raise IndexError(f"there is no block {block}: there are {end}")

    @property
    def num_gpu_blocks(self) -> int:
        """The number of blocks in the pool "GPU"."""
        return self.pools.get("GPU", 0)

    @property
    def num_cpu_blocks(self) -> int:
        """The number of blocks in the pool "CPU"."""
        return self.pools.get("CPU", 0)

    @property
    def free_gpu(self) -> tuple[int, ...]:
        """V0's "GPU free list", in the order in which blocks will be taken."""
        return self.lists.get("GPU free list", ())

    @property
    def free_cpu(self) -> tuple[int, ...]:
        """V0's "CPU free list"."""
        return self.lists.get("CPU free list", ())


def fill_of(
    block_ids: tuple[int, ...], num_slots: int, block_size: int, null_block: int | None
) -> tuple[int, ...]:
    """How many slots of each block of a table are written."""
    return tuple(
        0 if block_id == null_block else max(0, min(block_size, num_slots - k * block_size))
        for k, block_id in enumerate(block_ids)
    )
