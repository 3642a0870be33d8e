"""The pools of a block picture: where each cell is, what it holds, and the wires to it."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from matplotlib.path import Path

from pagesim.figures import style
from pagesim.figures.sheet import Sheet
from pagesim.figures.style import Box
from pagesim.journal.effects import Name
from pagesim.player.cache_view import CacheView

CELL_H, SPACE, POOL_GAP = 31.0, 3.0, 24.0
PLAIN_GUTTER, WIRE_PITCH = 6.0, 2.6


@dataclass(frozen=True, slots=True)
class Pool:
    """One device's blocks as a grid; `tops` are the y of the rows of cells."""

    heading: str
    ids: range
    columns: int
    cell_w: float
    x: float
    tops: tuple[float, ...]

    def row(self, block_id: int) -> int:
        """Which row of cells a block is in."""
        return (block_id - self.ids.start) // self.columns

    def cell(self, block_id: int) -> Box:
        """Where the cell of a block is, by its absolute id."""
        x = self.x + (block_id - self.ids.start) % self.columns * (self.cell_w + SPACE)
        return Box(x, self.tops[self.row(block_id)], self.cell_w, CELL_H)


@dataclass(frozen=True, slots=True)
class Pools:
    """All pools that have blocks."""

    entries: tuple[Pool, ...]

    @property
    def left(self) -> float:
        return min(pool.x for pool in self.entries)

    @property
    def bottom(self) -> float:
        return max(pool.cell(pool.ids[-1]).y + CELL_H for pool in self.entries)

    def cell(self, block_id: int) -> Box:
        """Where the cell of a block is, by its absolute id."""
        return next(pool.cell(block_id) for pool in self.entries if block_id in pool.ids)


def place_pools(cache: CacheView, right: float, top: float, wired: bool) -> Pools:
    """Place the pools side by side, flush right, with room above the rows for the wires.

    Rows are at the same heights in all pools, so that a wire to the CPU passes above GPU cells.
    """
    crowded = max(map(len, cache.pools.values())) > 24
    cell_w = 33.0 if crowded else 40.0
    pools: list[Pool] = []
    for place, (name, ids) in reversed([*enumerate(cache.pools.items())]):
        columns = (3 if crowded else 2) if place else (5 if crowded else 4)
        width = columns * (cell_w + SPACE) - SPACE
        pools.insert(0, Pool(f"{name} pool", ids, columns, cell_w, right - width, ()))
        right -= width + POOL_GAP

    held = [block_id for table in cache.tables.values() for block_id in table.block_ids]
    wires = Counter(pool.row(i) for pool in pools for i in held if wired and i in pool.ids)
    tops: list[float] = []
    for row in range(max(pool.row(pool.ids[-1]) for pool in pools) + 1):
        top += _gutter(wires[row])
        tops.append(top)
        top += CELL_H
    return Pools(tuple(replace(pool, tops=tuple(tops)) for pool in pools))


def _gutter(wires: int) -> float:
    """The height kept free above a row of cells, for this many wires and their arrowheads."""
    return 10.0 + WIRE_PITCH * wires if wires else PLAIN_GUTTER


def draw_pools(
    sheet: Sheet, cache: CacheView, pools: Pools, top: float, framed: Collection[int]
) -> None:
    """Every physical block: its id, its owners, how full it is, and whether it is shared."""
    for pool in pools.entries:
        sheet.write(pool.x, top - 12, pool.heading, size=style.HEADING, ha="left", bold=True)
        for block_id in pool.ids:
            box, names = pool.cell(block_id), cache.owners.get(block_id, [])
            held = not names and block_id not in cache.waiting
            sheet.rectangle(box, fill=style.HELD if held else style.PAPER, edge=None)
            full = cache.fill.get(block_id, 0) / cache.block_size
            colors = [cache.color(name) for name in names]
            sheet.fill_from_below(box, full, colors, style.hatch_of(cache, block_id))
            references = cache.state.ref_counts.get(block_id, 0)
            sheet.rectangle(box, fill=None, width=style.THICK if references > 1 else style.THIN)
            labels = ["null" if block_id == cache.state.null_block else "held"] if held else names
            _words(sheet, box, block_id, labels, references)
            if block_id in framed:
                sheet.frame(box)


def _words(sheet: Sheet, box: Box, block_id: int, names: Sequence[Name], references: int) -> None:
    """Id at the upper left, reference count at the upper right, owners below."""
    used, corner = bool(names), box.y + 8
    color = style.INK if used else style.MUTED
    text = str(block_id)
    sheet.write(box.x + 3, corner, text, ha="left", bold=used, color=color, pill=used)
    if references > 1:
        count = f"{style.TIMES}{references}"
        sheet.write(box.x + box.w - 3, corner, count, ha="right", bold=True, pill=True)
    if names:
        label = " ".join(map(str, names))
        if style.text_width(label) > box.w - 4:
            label = f"{names[0]} +{len(names) - 1}" if len(names) > 1 else f"{label[:4]}…"
        sheet.write(box.center[0], box.y + box.h - 8, label, pill=True)


@dataclass(frozen=True, slots=True)
class Plug:
    """Where a wire starts at a table entry: the sequence, the block, and the point."""

    name: Name
    block_id: int
    x: float
    y: float


def draw_wires(sheet: Sheet, cache: CacheView, plugs: list[Plug], pools: Pools) -> None:
    """From each table entry to its physical block, through the gutters: no wire crosses a cell.

    Upper entries take the outer lanes and the upper levels, so that wires rarely cross.
    """
    visits: Counter[int] = Counter()
    levels: dict[float, float] = {}
    arriving = Counter(plug.block_id for plug in plugs)
    rows = Counter(pools.cell(plug.block_id).y for plug in plugs)
    pitch = min(5.0, 40.0 / max(len(plugs) - 1, 1))
    for lane, plug in enumerate(plugs):
        box = pools.cell(plug.block_id)
        bus = pools.left - 8 - (len(plugs) - 1 - lane) * pitch
        level = levels.get(box.y, box.y - _gutter(rows[box.y])) + WIRE_PITCH
        if any(abs(level - other.y) < 2 for other in plugs):
            level += WIRE_PITCH  # or it would overlap another entry's wire
        levels[box.y] = level
        spread = (visits[plug.block_id] - (arriving[plug.block_id] - 1) / 2) * 11
        land = box.center[0] + spread
        visits[plug.block_id] += 1
        corners = [(plug.x + 2, plug.y), (bus, plug.y), (bus, level), (land, level), (land, box.y)]
        color = cache.color(plug.name)
        # A dark line under the coloured one: yellow alone is hard to see on white.
        for shade, width in ((style.INK, 1.8), (color, 1.0)):
            sheet.path(Path([*corners[:-1], (land, box.y - 4)]), edge=shade, width=width)
        sheet.triangle(land, box.y - 1.2, color=color)
