"""A pool too large for text on every block: small cells, a colour and a label per sequence.

It shows how the sequences' blocks interleave after a few hundred requests.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Unpack

from matplotlib.path import Path

from pagesim.figures import style
from pagesim.figures.cache_view import Cache, Reading, cache_view, framed_blocks
from pagesim.figures.charts.cache_words import words
from pagesim.figures.sheet import Sheet, blank
from pagesim.figures.style import MARGIN, Box, Picture
from pagesim.journal.effects import Name
from pagesim.player.cache_view import CacheView
from pagesim.player.describe import counted

RULER = 28.0  # room for the ids at the left of each row
HEADING = 24.0
LABELLED_H, ROOMY_HEIGHT, MAX_HEIGHT = 14.0, 320.0, 600.0
LEGEND_ROW, LEGEND_ROWS = 15.0, 6


@style.picture
def pool_map(
    source: Cache,
    *,
    highlight: Iterable[int] | None = None,
    title: str | None = None,
    **reading: Unpack[Reading],
) -> tuple[Picture, str]:
    """Draw the pools as grids of small cells, to see how the sequences' blocks interleave.

    The arguments are those of `block_layout`. Ids run from left to right and from top to bottom. A
    cell has its sequence's label if there is room (up to about 600 blocks); in larger pools,
    patterns distinguish sequences of the same colour.
    """
    cache = cache_view(source, **reading)
    return draw_map(cache, framed_blocks(cache, highlight), title), words(cache)


@dataclass(frozen=True, slots=True)
class Grid:
    """One pool's cells, `w` by `h` points each, and whether labels fit into them."""

    name: str
    ids: range
    x: float
    y: float
    w: float
    h: float
    columns: int
    labelled: bool

    @property
    def rows(self) -> int:
        return ceil(len(self.ids) / self.columns)

    @property
    def bottom(self) -> float:
        return self.y + self.rows * self.h

    def cell(self, block_id: int) -> Box:
        """Where the cell of a block is, by its absolute id."""
        row, column = divmod(block_id - self.ids.start, self.columns)
        return Box(self.x + column * self.w, self.y + row * self.h, self.w, self.h)


def grids(cache: CacheView, top: float) -> list[Grid]:
    """Where the pools' cells are, below each other."""
    total = cache.state.num_blocks
    largest = max(map(len, cache.pools.values()))
    room = style.WIDTH - 2 * MARGIN - RULER
    columns = max(8, 8 * ceil(sqrt(2 * largest) / 8))  # wide rather than tall: 32 for 512 blocks
    # Wide enough for the longest label, unless that makes the map too tall.
    label = max((style.text_width(name) for name in cache.tables), default=0.0) + 3
    wider = min(columns, 8 * int(room / label / 8))
    labelled = wider > 0 and ceil(total / wider) * LABELLED_H <= MAX_HEIGHT
    columns = wider if labelled else columns
    # A round number of eighths keeps the coordinates, and so the file, short.
    w = int(8 * min(room / columns, 30.0)) / 8
    h = min(w, max(LABELLED_H, 8 * int(ROOMY_HEIGHT / ceil(total / columns)) / 8))
    found: list[Grid] = []
    for name, ids in cache.pools.items():
        found.append(Grid(name, ids, MARGIN + RULER, top + HEADING, w, h, columns, labelled))
        top = found[-1].bottom + 8
    return found


def draw_map(cache: CacheView, framed: Collection[int], title: str | None) -> Picture:
    """The map on a sheet of its own."""
    placed = grids(cache, MARGIN + (22.0 if title else 0.0))
    legend = placed[-1].bottom + 6
    figure, sheet = blank(style.WIDTH, legend + legend_height(cache) + MARGIN, title)
    for grid in placed:
        draw_grid(sheet, cache, grid, framed)
    draw_legend(sheet, cache, legend, placed[0].labelled, bool(framed))
    return figure


def legend_height(cache: CacheView) -> float:
    """How high the legend is."""
    lines = min(ceil(len(cache.tables) / _legend_columns(cache)), LEGEND_ROWS)
    return 22 + lines * LEGEND_ROW


def draw_grid(sheet: Sheet, cache: CacheView, grid: Grid, framed: Collection[int]) -> None:
    """One pool: its heading, its cells and their labels."""
    hatch = style.hatch_of(cache, grid.ids.start)
    free = len(cache.waiting.intersection(grid.ids))
    text = f"{grid.name} pool: {len(grid.ids)} blocks, {len(grid.ids) - free} in use, {free} free"
    sheet.write(MARGIN, grid.y - 11, text, size=style.HEADING, ha="left", bold=True)
    for row in range(0, grid.rows, max(1, ceil(11 / grid.h))):
        first = grid.ids.start + row * grid.columns
        middle = grid.y + (row + 0.5) * grid.h
        sheet.write(grid.x - 4, middle, str(first), ha="right", color=style.MUTED)

    held = [block_id for block_id in cache.held() if block_id in grid.ids]
    _area(sheet, [grid.cell(block_id) for block_id in held], fill=style.HELD)
    _fill(sheet, cache, grid, hatch)
    _lattice(sheet, grid)
    shared = [grid.cell(block_id) for block_id in cache.shared() if block_id in grid.ids]
    _area(sheet, shared, edge=style.THICK)
    if grid.labelled:
        _label(sheet, cache, grid, pill=bool(hatch))
    for block_id in sorted(framed):
        if block_id in grid.ids:
            sheet.frame(grid.cell(block_id))


def _fill(sheet: Sheet, cache: CacheView, grid: Grid, hatch: str) -> None:
    """Each sequence's cells as one area: as high as tokens are in them, split between sharers."""
    for name, table in cache.tables.items():
        parts = []
        for block_id in dict.fromkeys(table.block_ids):
            if block_id in grid.ids:
                cell, sharers = grid.cell(block_id), cache.owners[block_id]
                width = cell.w / len(sharers)
                height = cell.h * cache.fill[block_id] / cache.block_size
                left = cell.x + width * sharers.index(name)
                parts.append(Box(left, cell.y + cell.h - height, width, height))
        pattern = hatch or ("" if grid.labelled else style.pattern_of(cache.places[name]))
        _area(sheet, parts, fill=cache.color(name), hatch=pattern)


def _label(sheet: Sheet, cache: CacheView, grid: Grid, pill: bool) -> None:
    """Owners' names; a cell with several owners says how many."""
    for block_id, names in cache.owners.items():
        if block_id not in grid.ids:
            continue
        alone = len(names) == 1
        text = str(names[0]) if alone else f"{style.TIMES}{cache.state.ref_counts[block_id]}"
        ink = style.ink_on(cache.color(names[0])) if alone else style.INK
        # Text in a colour's ink is unreadable above the fill, and on a hatch.
        full = cache.fill[block_id] == cache.block_size
        bare = alone and full and not pill
        sheet.write(
            *grid.cell(block_id).center, text, color=ink if bare else style.INK, pill=not bare
        )


def _lattice(sheet: Sheet, grid: Grid) -> None:
    """The outlines of all cells, as lines: a pool of 4,096 blocks stays a small file."""
    whole, rest = divmod(len(grid.ids), grid.columns)
    right = grid.x + grid.columns * grid.w
    points: list[tuple[float, float]] = []
    for row in range(grid.rows + 1):
        end = grid.x + rest * grid.w if rest and row == grid.rows else right
        y = grid.y + row * grid.h
        points += [(grid.x, y), (end, y)]
    for column in range(grid.columns + 1):
        rows = grid.rows if not rest or column <= rest else whole
        x = grid.x + column * grid.w
        points += [(x, grid.y), (x, grid.y + rows * grid.h)]
    codes = [Path.MOVETO, Path.LINETO] * (len(points) // 2)
    sheet.path(Path(points, codes), width=0.5)


def _area(
    sheet: Sheet, boxes: list[Box], *, fill: str | None = None, hatch: str = "", edge: float = 0.0
) -> None:
    """Many rectangles as one path."""
    points = []
    for b in boxes:
        right, below = b.x + b.w, b.y + b.h
        points += [(b.x, b.y), (right, b.y), (right, below), (b.x, below), (b.x, b.y)]
    if points:
        codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * len(boxes)
        color = style.INK if edge or hatch else None
        sheet.path(Path(points, codes), fill=fill, edge=color, width=edge, hatch=hatch)


def _count(cache: CacheView, name: Name) -> str:
    return f"{name}: {counted(len(cache.tables[name].block_ids), 'block')}"


def _legend_columns(cache: CacheView) -> int:
    widest = max((style.text_width(_count(cache, name)) for name in cache.tables), default=60)
    return max(1, int((style.WIDTH - 2 * MARGIN) / (widest + 27)))


def draw_legend(sheet: Sheet, cache: CacheView, y: float, labelled: bool, framed: bool) -> None:
    """What the signs mean, and how many blocks each sequence has."""
    entries = ["fill height: slots with tokens", "blank: free"]
    other = list(cache.pools)[1:]
    entries += [f"hatched: {', '.join(other)}"] if other else []
    entries += ["thick edge: shared"] if cache.shared() else []
    entries += ["grey: held, but in no table"] if cache.held() else []
    entries += ["dashed frame: look here"] if framed else []
    sheet.write(MARGIN, y + 10, " · ".join(entries), ha="left", color=style.MUTED)
    names = list(cache.tables)
    columns = _legend_columns(cache)
    places = columns * LEGEND_ROWS
    shown = names if len(names) <= places else names[: places - 1]
    pitch = (style.WIDTH - 2 * MARGIN) / columns
    for order, name in enumerate(shown):
        row, column = divmod(order, columns)
        swatch = Box(MARGIN + column * pitch, y + 22 + row * LEGEND_ROW, 11, 10)
        pattern = "" if labelled else style.pattern_of(cache.places[name])
        sheet.rectangle(swatch, fill=cache.color(name), hatch=pattern)
        text = _count(cache, name)
        sheet.write(swatch.x + 15, swatch.center[1] + 0.5, text, ha="left")
    if len(shown) < len(names):
        row, column = divmod(len(shown), columns)
        text = f"and {len(names) - len(shown)} more"
        at = y + 27.5 + row * LEGEND_ROW
        sheet.write(MARGIN + column * pitch, at, text, ha="left", color=style.MUTED)
