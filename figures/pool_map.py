"""A pool too large for a word on every block: small cells, a colour and a label per sequence.

Here one sees at a glance how the sequences' blocks interleave after some hundred requests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from figures import style
from figures.snapshot import Snapshot, as_snapshot
from figures.style import Box

MARGIN = 10.0
RULER = 28.0  # room for the ids at the left of each row
HEADING = 24.0
LABELLED_H, ROOMY_HEIGHT, MAX_HEIGHT = 14.0, 320.0, 600.0
LEGEND_ROW, LEGEND_ROWS = 15.0, 6


def pool_map(
    source: Any, *, highlight: Iterable[int] | None = None, title: str | None = None, **reading: Any
) -> Figure:
    """Draw both pools as grids of small cells, ids running left to right, top to bottom.

    Takes what `block_layout` takes. Cells carry their sequence's label while it fits (about 600
    blocks); beyond that a pattern tells sequences of one colour apart.
    """
    snapshot = as_snapshot(source, **reading)
    framed = snapshot.checked(highlight or ())
    with mpl.rc_context(style.RC):
        return _draw(snapshot, framed, title)


@dataclass(frozen=True, slots=True)
class Grid:
    """One pool's cells, `w` by `h` points each, and whether labels fit into them."""

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
        """Where the cell of a block stands, by its absolute id."""
        row, column = divmod(block_id - self.ids.start, self.columns)
        return Box(self.x + column * self.w, self.y + row * self.h, self.w, self.h)


def _grids(snapshot: Snapshot, top: float) -> list[Grid]:
    total = snapshot.num_gpu_blocks + snapshot.num_cpu_blocks
    largest = max(snapshot.num_gpu_blocks, snapshot.num_cpu_blocks)
    room = style.WIDTH - 2 * MARGIN - RULER
    columns = max(8, 8 * ceil(sqrt(2 * largest) / 8))  # wide rather than tall: 32 for 512 blocks
    # Wide enough for the longest label, if the map does not become a column for that.
    label = max((style.text_width(name) for name in snapshot.tables), default=0.0) + 3
    wider = min(columns, 8 * int(room / label / 8))
    labelled = wider > 0 and ceil(total / wider) * LABELLED_H <= MAX_HEIGHT
    columns = wider if labelled else columns
    # A round number of eighths keeps the coordinates, and so the file, short.
    w = int(8 * min(room / columns, 30.0)) / 8
    h = min(w, max(LABELLED_H, 8 * int(ROOMY_HEIGHT / ceil(total / columns)) / 8))
    grids = []
    for ids in (range(snapshot.num_gpu_blocks), range(snapshot.num_gpu_blocks, total)):
        if ids:
            grids.append(Grid(ids, MARGIN + RULER, top + HEADING, w, h, columns, labelled))
            top = grids[-1].bottom + 8
    return grids


def _draw(snapshot: Snapshot, framed: Collection[int], title: str | None) -> Figure:
    grids = _grids(snapshot, MARGIN + (22.0 if title else 0.0))
    legend = grids[-1].bottom + 6
    lines = min(ceil(len(snapshot.tables) / _legend_columns(snapshot)), LEGEND_ROWS)
    figure, axes = style.sheet(style.WIDTH, legend + 22 + lines * LEGEND_ROW + MARGIN)
    if title:
        style.write(axes, MARGIN, MARGIN + 8, title, size=style.TITLE, ha="left", bold=True)
    for grid in grids:
        _draw_grid(axes, snapshot, grid, framed)
    _draw_legend(axes, snapshot, legend, grids[0].labelled, bool(framed))
    return figure


def _draw_grid(axes: Axes, snapshot: Snapshot, grid: Grid, framed: Collection[int]) -> None:
    cpu = snapshot.on_cpu(grid.ids.start)
    free = len(snapshot.free_cpu if cpu else snapshot.free_gpu)
    text = (
        f"{'CPU' if cpu else 'GPU'} pool: {len(grid.ids)} blocks, "
        f"{len(grid.ids) - free} in use, {free} free"
    )
    style.write(axes, MARGIN, grid.y - 11, text, size=style.HEADING, ha="left", bold=True)
    for row in range(0, grid.rows, max(1, ceil(11 / grid.h))):
        first = grid.ids.start + row * grid.columns
        middle = grid.y + (row + 0.5) * grid.h
        style.write(axes, grid.x - 4, middle, str(first), ha="right", color=style.MUTED)

    held = [block_id for block_id in snapshot.held() if block_id in grid.ids]
    _area(axes, [grid.cell(block_id) for block_id in held], fill=style.HELD)
    _fill(axes, snapshot, grid, style.CPU_HATCH if cpu else "")
    _lattice(axes, grid)
    shared = [grid.cell(block_id) for block_id in snapshot.shared() if block_id in grid.ids]
    _area(axes, shared, edge=style.THICK)
    if grid.labelled:
        _label(axes, snapshot, grid, pill=cpu)
    for block_id in sorted(framed):
        if block_id in grid.ids:
            style.frame(axes, grid.cell(block_id))


def _fill(axes: Axes, snapshot: Snapshot, grid: Grid, hatch: str) -> None:
    """Each sequence's cells as one area: as high as tokens are in them, split between sharers."""
    owners, fill = snapshot.owners(), snapshot.fill()
    for name, table in snapshot.tables.items():
        parts = []
        for block_id in dict.fromkeys(block.block_id for block in table):
            if block_id in grid.ids:
                cell, sharers = grid.cell(block_id), owners[block_id]
                width = cell.w / len(sharers)
                height = cell.h * fill[block_id] / snapshot.block_size
                left = cell.x + width * sharers.index(name)
                parts.append(Box(left, cell.y + cell.h - height, width, height))
        pattern = hatch or ("" if grid.labelled else style.pattern_of(snapshot.index(name)))
        _area(axes, parts, fill=snapshot.color(name), hatch=pattern)


def _label(axes: Axes, snapshot: Snapshot, grid: Grid, pill: bool) -> None:
    """Owners' names; a cell shared by several says how many, for want of room."""
    fill = snapshot.fill()
    for block_id, names in snapshot.owners().items():
        if block_id not in grid.ids:
            continue
        alone = len(names) == 1
        text = names[0] if alone else f"{style.TIMES}{snapshot.ref_counts[block_id]}"
        ink = style.ink_on(snapshot.color(names[0])) if alone else style.INK
        # Text for the colour is lost above the fill of a block that is not full, any on a hatch.
        full = fill[block_id] == snapshot.block_size
        bare = alone and full and not pill
        style.write(
            axes,
            *grid.cell(block_id).center,
            text,
            color=ink if bare else style.INK,
            pill=not bare,
        )


def _lattice(axes: Axes, grid: Grid) -> None:
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
    _patch(axes, Path(points, codes), fill=None, edge=0.5)


def _area(
    axes: Axes, boxes: list[Box], *, fill: str | None = None, hatch: str = "", edge: float = 0.0
) -> None:
    """Many rectangles as one path."""
    points = []
    for b in boxes:
        right, below = b.x + b.w, b.y + b.h
        points += [(b.x, b.y), (right, b.y), (right, below), (b.x, below), (b.x, b.y)]
    if points:
        codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * len(boxes)
        _patch(axes, Path(points, codes), fill=fill, hatch=hatch, edge=edge)


def _patch(axes: Axes, path: Path, *, fill: str | None, hatch: str = "", edge: float) -> None:
    axes.add_patch(
        PathPatch(
            path,
            facecolor=fill or "none",
            edgecolor=style.INK if edge or hatch else "none",
            linewidth=edge,
            hatch=hatch or None,
            clip_on=False,
        )
    )


def _count(snapshot: Snapshot, name: str) -> str:
    count = len(snapshot.tables[name])
    return f"{name}: {count} block{'' if count == 1 else 's'}"


def _legend_columns(snapshot: Snapshot) -> int:
    widest = max((style.text_width(_count(snapshot, name)) for name in snapshot.tables), default=60)
    return max(1, int((style.WIDTH - 2 * MARGIN) / (widest + 27)))


def _draw_legend(axes: Axes, snapshot: Snapshot, y: float, labelled: bool, framed: bool) -> None:
    words = ["fill height: slots with tokens", "blank: free"]
    words += ["hatched: CPU"] if snapshot.num_cpu_blocks else []
    words += ["thick edge: shared"] if snapshot.shared() else []
    words += ["grey: held, but in no table"] if snapshot.held() else []
    words += ["dashed frame: look here"] if framed else []
    style.write(axes, MARGIN, y + 10, " · ".join(words), ha="left", color=style.MUTED)
    names = list(snapshot.tables)
    columns = _legend_columns(snapshot)
    places = columns * LEGEND_ROWS
    shown = names if len(names) <= places else names[: places - 1]
    pitch = (style.WIDTH - 2 * MARGIN) / columns
    for order, name in enumerate(shown):
        row, column = divmod(order, columns)
        swatch = Box(MARGIN + column * pitch, y + 22 + row * LEGEND_ROW, 11, 10)
        pattern = "" if labelled else style.pattern_of(snapshot.index(name))
        style.rectangle(axes, swatch, fill=snapshot.color(name), hatch=pattern)
        text = _count(snapshot, name)
        style.write(axes, swatch.x + 15, swatch.center[1] + 0.5, text, ha="left")
    if len(shown) < len(names):
        row, column = divmod(len(shown), columns)
        text = f"and {len(names) - len(shown)} more"
        at = y + 27.5 + row * LEGEND_ROW
        style.write(axes, MARGIN + column * pitch, at, text, ha="left", color=style.MUTED)
