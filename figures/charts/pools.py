"""The pools of a block picture: where each block is, and what it holds.

A small pool is drawn as the player draws it: a block is a strip of slots with its tokens, and its
owners stand beside it. A larger one has a cell a block, which says how full it is.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib.path import Path

from pagesim.figures import style
from pagesim.figures.sheet import Sheet
from pagesim.figures.style import Box
from pagesim.journal.effects import Name
from pagesim.player.cache_view import CacheView

MAX_STRIPS = 24
ROW, STRIP_PITCH = 17.0, 20.0
CELL_H, SPACE, POOL_GAP = 31.0, 3.0, 24.0
NUMBERS, OWNERS = 20.0, 52.0
"""The room for the id at the left of a strip, and for names at its right."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One device's blocks as a grid, whose first cell is `first`."""

    heading: str
    ids: range
    columns: int
    first: Box

    def cell(self, block_id: int) -> Box:
        """Where a block is, by its absolute id."""
        row, column = divmod(block_id - self.ids.start, self.columns)
        at = self.first
        pitch = STRIP_PITCH if self.columns == 1 else at.h + 2 * SPACE
        return Box(at.x + column * (at.w + SPACE), at.y + row * pitch, at.w, at.h)


@dataclass(frozen=True, slots=True)
class Pools:
    """All pools that have blocks."""

    entries: tuple[Pool, ...]
    are_strips: bool

    @property
    def left(self) -> float:
        return min(pool.first.x for pool in self.entries)

    @property
    def bottom(self) -> float:
        return max(pool.cell(pool.ids[-1]).y + pool.first.h for pool in self.entries)

    def cell(self, block_id: int) -> Box:
        """Where a block is, by its absolute id."""
        return next(pool.cell(block_id) for pool in self.entries if block_id in pool.ids)


def has_strips(cache: CacheView) -> bool:
    """Whether the pools are small enough for a strip a block."""
    return sum(map(len, cache.pools.values())) <= MAX_STRIPS


def place_strips(cache: CacheView, right: float, top: float, slot: float) -> Pools:
    """Place the pools under each other, so that no wire to one passes another."""
    pools, width = list[Pool](), slot * cache.block_size
    for name, ids in cache.pools.items():
        pools.append(Pool(f"{name} pool", ids, 1, Box(right - OWNERS - width, top, width, ROW)))
        top = pools[-1].cell(ids[-1]).y + ROW + POOL_GAP + SPACE
    return Pools(tuple(pools), are_strips=True)


def place_cells(cache: CacheView, right: float, top: float) -> Pools:
    """Place the pools side by side, flush right."""
    crowded = max(map(len, cache.pools.values())) > MAX_STRIPS
    cell_w = 33.0 if crowded else 40.0
    pools: list[Pool] = []
    for place, (name, ids) in reversed([*enumerate(cache.pools.items())]):
        columns = (3 if crowded else 2) if place else (5 if crowded else 4)
        width = columns * (cell_w + SPACE) - SPACE
        first = Box(right - width, top + 2 * SPACE, cell_w, CELL_H)
        pools.insert(0, Pool(f"{name} pool", ids, columns, first))
        right -= width + POOL_GAP
    return Pools(tuple(pools), are_strips=False)


def draw_pools(
    sheet: Sheet,
    cache: CacheView,
    pools: Pools,
    framed: Collection[int],
    labels: Mapping[int, str],
) -> None:
    """Every physical block: its id, its owners, how full it is, and whether it is shared."""
    draw = _strip if pools.are_strips else _cell
    for pool in pools.entries:
        heading = pool.first.y - (12 if pools.are_strips else 18)
        sheet.write(pool.first.x, heading, pool.heading, size=style.HEADING, ha="left", bold=True)
        for block_id in pool.ids:
            box, names = pool.cell(block_id), cache.owners.get(block_id, [])
            if not names and block_id not in cache.waiting:
                sheet.rectangle(box, fill=style.HELD, edge=None)
                names = ["null" if block_id == cache.state.null_block else "held"]
            references = cache.state.ref_counts.get(block_id, 0)
            draw(sheet, cache, box, Block(block_id, names, references), labels)
            edge, width = style.INK, style.THICK if references > 1 else style.THIN
            if pools.are_strips and not names and not cache.fill.get(block_id):
                edge = style.MUTED
            sheet.rectangle(box, fill=None, width=width, edge=edge)
            if block_id in framed:
                sheet.frame(box)


class Block(NamedTuple):
    """What is written at a block."""

    block_id: int
    names: Sequence[Name]
    references: int


def _strip(
    sheet: Sheet, cache: CacheView, box: Box, block: Block, labels: Mapping[int, str]
) -> None:
    """The slots with their tokens; the id at the left, the owners at the right."""
    block_id, names, references = block
    owners = cache.owners.get(block_id, [])
    texts = list[str]()
    for name in owners[:1]:
        index = cache.tables[name].block_ids.index(block_id)
        texts = [labels[token] for token in cache.tokens(name, index)]
    fill, size = cache.fill.get(block_id, 0), cache.block_size
    colors = [cache.color(name) for name in owners]
    if owners or block_id in cache.waiting:
        draw_slots(sheet, box, (fill, size), texts, colors, style.hatch_of(cache, block_id))
    y, is_used = box.center[1], bool(names)
    color = style.INK if is_used else style.MUTED
    sheet.write(box.x - 6, y, str(block_id), ha="right", bold=is_used, color=color)
    if not names:
        return
    count = f"{style.TIMES}{references}" if references > 1 else ""
    whose, after = _short(names, OWNERS - 28), box.x + box.w + 6
    sheet.write(after, y, whose, ha="left")
    if count:
        sheet.write(after + style.text_width(whose) + 4, y, count, ha="left", bold=True)


def _cell(
    sheet: Sheet, cache: CacheView, box: Box, block: Block, _labels: Mapping[int, str]
) -> None:
    """Id at the upper left, reference count at the upper right, owners below."""
    block_id, names, references = block
    if block_id in cache.owners:
        full = cache.fill.get(block_id, 0) / cache.block_size
        colors = [cache.color(name) for name in names]
        sheet.fill_from_below(box, full, colors, style.hatch_of(cache, block_id))
    is_used, corner = bool(names), box.y + 8
    color = style.INK if is_used else style.MUTED
    text = str(block_id)
    sheet.write(box.x + 3, corner, text, ha="left", bold=is_used, color=color, pill=is_used)
    if references > 1:
        count = f"{style.TIMES}{references}"
        sheet.write(box.x + box.w - 3, corner, count, ha="right", bold=True, pill=True)
    if names:
        label = _short(names, box.w - 4)
        sheet.write(box.center[0], box.y + box.h - 8, label, pill=True)


def _short(names: Sequence[Name], room: float) -> str:
    """The names, or the first and how many more."""
    label = " ".join(map(str, names))
    if style.text_width(label) <= room:
        return label
    return f"{names[0]} +{len(names) - 1}" if len(names) > 1 else f"{label[:4]}…"


def draw_slots(
    sheet: Sheet,
    row: Box,
    filled: tuple[int, int],
    texts: Sequence[str],
    colors: Sequence[str],
    hatch: str,
) -> None:
    """A block as slots side by side, the `filled` (of how many) with their tokens.

    Several owners are over each other in it.
    """
    fill, size = filled
    slot = row.w / size
    is_plain = len(colors) == 1 and not hatch
    for place, color in enumerate(colors):
        height = row.h / len(colors)
        bar = Box(row.x, row.y + place * height, slot * fill, height)
        sheet.rectangle(bar, fill=color, edge=None, hatch=hatch)
    if slot < 6:  # too narrow for an outline each: a bar says how far the block is filled
        return
    if max(map(style.text_width, texts), default=0.0) + 5 > slot + 1e-6:
        texts = ()
    for place in range(size):
        box = Box(row.x + place * slot, row.y, slot, row.h)
        sheet.rectangle(box, fill=None, edge=style.INK if colors else style.MUTED)
        if label := texts[place] if place < min(fill, len(texts)) else "":
            ink = style.ink_on(colors[0]) if is_plain else style.INK
            sheet.write(*box.center, label, color=ink, pill=not is_plain)


@dataclass(frozen=True, slots=True)
class Plug:
    """Where a wire starts at a table entry: the sequence, the block, and the point."""

    name: Name
    block_id: int
    x: float
    y: float


def draw_wires(sheet: Sheet, cache: CacheView, plugs: Sequence[Plug], pools: Pools) -> None:
    """From each table entry to its strip: no wire crosses a block.

    Of wires that go up the lowest, of those that go down the highest is nearest to the pool: then
    wires of one direction never cross.
    """
    visits: Counter[int] = Counter()
    arriving = Counter(plug.block_id for plug in plugs)
    ends = list[float]()
    for plug in plugs:
        spread = visits[plug.block_id] - (arriving[plug.block_id] - 1) / 2
        visits[plug.block_id] += 1
        end = pools.cell(plug.block_id).center[1] + spread * 6
        if any(abs(end - other.y) < 2 for other in plugs if other != plug):
            end += 3  # or it would lie on the beginning of another wire
        ends.append(end)
    up = [i for i, plug in enumerate(plugs) if ends[i] < plug.y]
    down = [i for i, plug in enumerate(plugs) if ends[i] >= plug.y]
    left = max((plug.x for plug in plugs), default=0.0) + 8
    right = pools.left - NUMBERS - 10
    pitch = (right - left) / max(len(plugs), 1)
    for lane, place in enumerate([*up, *reversed(down)]):
        plug, bus, end = plugs[place], left + lane * pitch, ends[place]
        head = pools.left - NUMBERS
        color = cache.color(plug.name)
        # A dark line under the coloured one: yellow alone is hard to see on white.
        route = Path([(plug.x + 2, plug.y), (bus, plug.y), (bus, end), (head - 4, end)])
        for shade, width in ((style.INK, 1.8), (color, 1.0)):
            sheet.path(route, edge=shade, width=width)
        sheet.arrowhead(head, end, color=color)
