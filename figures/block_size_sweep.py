"""Block size and memory: one stacked column a size, and under it the numbers.

What a larger block costs is the last one of every request, half empty on average. The last line of
numbers is that rule of thumb, calculated from the batch alone, to be compared with internal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import chart, style
from figures.chart import Scale
from figures.memory_waste import SEEN, Means, means_of
from figures.style import Box
from pagesim.simulation import Simulation
from pagesim.simulation.waste import PARTS, WasteLog

LABELS, COLUMNS, ROW = 92.0, 170.0, 14.0
LEFT = chart.MARGIN + LABELS
HALF = "half a block each"
RULE = (
    f"{HALF.capitalize()}: (block size {chart.MINUS} 1) / 2 empty slots for every request that "
    "runs, which is what internal would be if prompts and outputs ended anywhere in a block alike."
)


def half_a_block_each(block_size: int, batch: float, slots: int) -> float:
    """Percent of ``slots`` left empty if every last block has (block_size - 1) / 2 empty slots."""
    return 100 * batch * (block_size - 1) / 2 / slots


def block_size_sweep(
    sizes: Mapping[int, Means | WasteLog | Simulation],
    slots: int,
    *,
    published: Mapping[int, float] | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> Figure:
    """Draw where the slots of a paged pool are, for some block sizes, the smallest first.

    ``sizes`` maps a block size to a run, its log, or the means in percent; ``slots`` is the pool.
    ``published`` token shares become a mark at their size. ``notes`` stand under the picture.
    ValueError when there is no size.
    """
    rows = _rows(sizes)
    with mpl.rc_context(style.RC):
        return _draw(rows, slots, published or {}, title or "Block size and memory", notes)


def block_size_sweep_alt_text(
    sizes: Mapping[int, Means | WasteLog | Simulation], notes: Iterable[str] = ()
) -> str:
    """The picture in words: per block size the token share, internal, and the batch."""
    said = [
        f"{size}: token {row['token']:.1f}, internal {row['internal']:.1f}, "
        f"{row['batch']:.1f} requests at once"
        for size, row in _rows(sizes).items()
    ]
    return " ".join(
        [f"Percent of the cache's slots by block size. {'; '.join(said)}.", *notes],
    )


def _rows(sizes: Mapping[int, Means | WasteLog | Simulation]) -> dict[int, dict[str, float]]:
    if not sizes:
        raise ValueError("there is no block size to draw: give at least one run or its means")
    return {size: means_of(sizes[size]) for size in sorted(sizes)}


def _draw(
    rows: Mapping[int, Means],
    slots: int,
    published: Mapping[int, float],
    title: str,
    notes: Iterable[str],
) -> Figure:
    table = {
        "token": [f"{row['token']:.1f}" for row in rows.values()],
        "internal": [f"{row['internal']:.1f}" for row in rows.values()],
        HALF: [f"{half_a_block_each(size, rows[size]['batch'], slots):.1f}" for size in rows],
        "requests at once": [f"{row['batch']:.1f}" for row in rows.values()],
    }
    marked = [f"Diamond: the published share of tokens ({_list(published)})."] if published else []
    body = 18.0 + COLUMNS + 20 + ROW * len(table)
    figure, axes, y = chart.page(
        title,
        f"Percent of the cache's {slots:,} slots on average",
        body,
        [RULE, *marked, *notes],
    )
    seen = [name for name in PARTS if any(row[name] >= SEEN for row in rows.values())]
    chart.legend(axes, LEFT, y, seen)
    y += 18
    up = Scale(0, 100, y + COLUMNS, y)
    for percent in chart.ticks(100):
        style.write(axes, LEFT - 6, up(percent), f"{percent:g}", ha="right")
        chart.line(axes, [LEFT - 3, LEFT], [up(percent)] * 2)
    pitch = (chart.WIDTH - chart.MARGIN - LEFT) / len(rows)
    middles = [LEFT + (place + 0.5) * pitch for place in range(len(rows))]
    y += COLUMNS + 10
    style.write(axes, LEFT - 6, y, "block size", ha="right", bold=True)
    for x, (size, row) in zip(middles, rows.items(), strict=True):
        _column(axes, x, min(0.72 * pitch, 44), row, up)
        if size in published:
            chart.diamond(axes, x, up(published[size]))
        style.write(axes, x, y, str(size), bold=True)
    y += 2
    for name, numbers in table.items():
        y += ROW
        color = style.MUTED if name == HALF else style.INK
        style.write(axes, LEFT - 6, y, name, ha="right", color=color)
        for x, text in zip(middles, numbers, strict=True):
            style.write(axes, x, y, text, color=color)
    return figure


def _column(axes: Axes, x: float, width: float, row: Means, up: Scale) -> None:
    below = 0.0
    for name in PARTS:
        above = below + row[name]
        style.part(axes, Box(x - width / 2, up(above), width, up(below) - up(above)), name)
        below = above
    style.rectangle(axes, Box(x - width / 2, up(100), width, up(0) - up(100)), fill=None)


def _list(published: Mapping[int, float]) -> str:
    return ", ".join(f"{share:.1f} for {size}" for size, share in published.items())
