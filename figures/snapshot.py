"""What a picture needs to know of a cache at one moment, as plain values.

The figures draw a `Snapshot` and nothing else; `read_snapshot` is the one place that knows how the
simulator stores things. A snapshot can also be written by hand, for a slide or a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pagesim
from figures import style
from pagesim.player.colors import places


@dataclass(frozen=True, slots=True)
class BlockView:
    """One entry of a block table: where the block lies, and the tokens in it, oldest first."""

    block_id: int
    token_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Two pools and the tables that point into them, at one moment.

    Ids are absolute: the GPU's blocks are 0 … G-1, the CPU's G … G+C-1. `free_gpu` and `free_cpu`
    are in the order in which blocks will be taken. `places` keeps a sequence's colour the same
    from picture to picture; without it colours go by the order of the tables.
    Raises ValueError for an id outside the pools, for a block with more tokens than
    `block_size`, and for a free block that a table points at.
    """

    block_size: int
    num_gpu_blocks: int
    num_cpu_blocks: int
    tables: dict[str, tuple[BlockView, ...]]
    ref_counts: dict[int, int]
    free_gpu: tuple[int, ...]
    free_cpu: tuple[int, ...] = ()
    places: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        total = self.num_gpu_blocks + self.num_cpu_blocks
        free = {*self.free_gpu, *self.free_cpu}
        _check_free("free_gpu", self.free_gpu, range(self.num_gpu_blocks))
        _check_free("free_cpu", self.free_cpu, range(self.num_gpu_blocks, total))
        for name, table in self.tables.items():
            for index, block in enumerate(table):
                where = f"table {name!r}, entry {index}"
                if not 0 <= block.block_id < total:
                    raise ValueError(f"{where}: block {block.block_id} is not in 0..{total - 1}")
                if len(block.token_ids) > self.block_size:
                    raise ValueError(
                        f"{where}: {len(block.token_ids)} tokens, block_size is {self.block_size}"
                    )
                if block.block_id in free:
                    raise ValueError(f"{where}: block {block.block_id} is also in a free list")

    def on_cpu(self, block_id: int) -> bool:
        """Whether this id belongs to the CPU pool."""
        return block_id >= self.num_gpu_blocks

    def owners(self) -> dict[int, list[str]]:
        """Block id → the names of the sequences whose table holds it, in table order."""
        found: dict[int, list[str]] = {}
        for name, table in self.tables.items():
            for block in table:
                names = found.setdefault(block.block_id, [])
                if name not in names:
                    names.append(name)
        return found

    def fill(self) -> dict[int, int]:
        """Block id → how many of its slots hold tokens (sharers may have seen fewer)."""
        most: dict[int, int] = {}
        for table in self.tables.values():
            for block in table:
                most[block.block_id] = max(most.get(block.block_id, 0), len(block.token_ids))
        return most

    def shared(self) -> list[int]:
        """The ids with more than one reference, ascending."""
        return sorted(block for block, count in self.ref_counts.items() if count > 1)

    def held(self) -> list[int]:
        """The ids that are in no table and on no free list: cached content, the null block."""
        known = {*self.owners(), *self.free_gpu, *self.free_cpu}
        return [i for i in range(self.num_gpu_blocks + self.num_cpu_blocks) if i not in known]

    def color(self, name: str) -> str:
        """The colour of a sequence, as ``#RRGGBB``."""
        return style.color_of(self.index(name))

    def index(self, name: str) -> int:
        """The place that a sequence's colour and pattern are chosen by."""
        return self.places[name] if name in self.places else list(self.tables).index(name)

    def checked(self, block_ids: Iterable[int]) -> frozenset[int]:
        """The ids as a set. Raises ValueError for one that is in neither pool."""
        total = self.num_gpu_blocks + self.num_cpu_blocks
        ids = frozenset(block_ids)
        for block_id in ids:
            if not 0 <= block_id < total:
                raise ValueError(f"highlight: block {block_id} is not in 0..{total - 1}")
        return ids

    def num_tokens(self, name: str) -> int:
        """How many tokens the named sequence keeps in its blocks."""
        return sum(len(block.token_ids) for block in self.tables[name])


def _check_free(field: str, ids: tuple[int, ...], pool: range) -> None:
    for block_id in ids:
        if block_id not in pool:
            raise ValueError(f"{field}: block {block_id} is not in {pool.start}..{pool.stop - 1}")
    if len(set(ids)) != len(ids):
        raise ValueError(f"{field}: a block is listed twice in {ids}")


def read_snapshot(
    source: Any,
    *,
    allocator: Any = None,
    names: Mapping[Any, str] | None = None,
    order: Iterable[Any] | None = None,
) -> Snapshot:
    """Read a block manager, or a mapping of block tables together with their `allocator`.

    `names` says what to call a sequence (its id → a short label), and in which order they stand;
    without it the id 0 is ``s0`` and a string is its own label. Colours go by `order`, which says
    in which order the sequences first appeared (`run.sequences` gives those of the player), else by
    `names`, else by the order of the tables. Raises TypeError when `source` is neither, ValueError
    when two sequences would have one label.
    """
    if allocator is None:
        if not hasattr(source, "block_tables"):
            raise TypeError(
                f"cannot read a {type(source).__name__}: pass a block manager, or "
                "{name: BlockTable} together with allocator=..."
            )
        tables, allocator = source.block_tables, source.block_allocator
    else:
        tables = source
    if not isinstance(tables, Mapping):
        raise TypeError(f"block tables come as {{name: BlockTable}}, not {type(tables).__name__}")
    named = list(names or {})
    keys = [key for key in named if key in tables] + [key for key in tables if key not in named]
    placed = places([*(named if order is None else order), *tables])
    num_gpu = allocator.get_num_total_blocks(pagesim.Device.GPU)
    num_cpu = allocator.get_num_total_blocks(pagesim.Device.CPU)
    views = {
        _label(key, names): tuple(
            BlockView(block.block_id, tuple(block.token_ids)) for block in tables[key].blocks
        )
        for key in keys
    }
    if len(views) != len(tables):
        raise ValueError(f"two sequences share a label: {[_label(k, names) for k in tables]}")
    return Snapshot(
        block_size=_block_size(source, tables.values()),
        num_gpu_blocks=num_gpu,
        num_cpu_blocks=num_cpu,
        tables=views,
        ref_counts={
            block.block_id: allocator.get_ref_count(block.block_id)
            for table in views.values()
            for block in table
        },
        free_gpu=tuple(allocator.free_block_ids(pagesim.Device.GPU)),
        free_cpu=tuple(allocator.free_block_ids(pagesim.Device.CPU)),
        places={_label(key, names): placed[key] for key in keys},
    )


def as_snapshot(source: Any, **options: Any) -> Snapshot:
    """A snapshot as it is; anything else through `read_snapshot` with its options."""
    return source if isinstance(source, Snapshot) else read_snapshot(source, **options)


def _label(key: Any, names: Mapping[Any, str] | None) -> str:
    if names is not None and key in names:
        return names[key]
    return f"s{key}" if isinstance(key, int) else str(key)


def _block_size(source: Any, tables: Iterable[Any]) -> int:
    if hasattr(source, "block_size"):
        return int(source.block_size)
    for table in tables:
        for block in table.blocks:
            return int(block.block_size)
    raise ValueError("empty tables do not tell their block size: pass the block manager instead")
