"""Block size and memory: a column of the slots without a token for each size, above the numbers.

Larger blocks cost memory in the last block of every request, which is half empty on average. The
last line of numbers is that rule of thumb, from the batch alone, for comparison with internal.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pagesim.errors import UsageError
from pagesim.figures import page, style
from pagesim.figures.charts.memory_waste import SEEN
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import Means, Run, Source, log_of, means_of, note_of, runs
from pagesim.figures.style import Box, Picture
from pagesim.simulation import PAPER_POOL, Simulation, simulate
from pagesim.simulation.waste import PARTS
from pagesim.studies.paper import Comparison
from pagesim.timeline import Timeline
from pagesim.workload import Workload

LABELS, COLUMNS, ROW = 92.0, 170.0, 14.0
LEFT = page.MARGIN + LABELS
SIZES = (1, 8, 16, 32, 64, 128, 256)
EMPTY = ["internal", *(part for part in PARTS if part not in ("token", "internal"))]
"""What is drawn, from below: what the block size decides has one ground line."""
HALF = "half a block each"
RULE = (
    f"{HALF.capitalize()}: (block size {page.MINUS} 1) / 2 empty slots for every running request, "
    "which is what internal would be if requests ended at every place in a block equally often."
)


def half_a_block_each(block_size: int, batch: float, slots: int) -> float:
    """Percent of ``slots`` left empty if every last block has (block_size - 1) / 2 empty slots."""
    return 100 * batch * (block_size - 1) / 2 / slots


@style.picture
def block_size_sweep(
    source: Source,
    slots: int | None = None,
    *,
    sizes: Iterable[int] = SIZES,
    published: Mapping[int, float] | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
    **options: Any,
) -> tuple[Picture, str]:
    """Draw how many of a paged pool's slots hold no token, to see what large blocks cost.

    ``source`` is a dict from block sizes to runs, logs or means in percent, a list of paged
    Simulations or Timelines, or ``studies.paper.block_sizes()``. Or it is a trace of requests
    (Workload or file), which is simulated with ``sizes`` and ``options`` of `simulate`. ``slots``
    is the size of the pool; a run has its own, and for bare means the default is the paper's
    15,728. ``published`` token shares in percent become a mark at what they leave. Errors: see
    `figures`.
    """

    def serve(workload: Workload) -> dict[str, Simulation]:
        given = {"saturated": True, "progress": False, **options}
        return {str(n): simulate(workload, block_size=n, **given) for n in sizes}

    if isinstance(source, Comparison) and published is None:
        published = {int(size): row["token"] for size, row in source.published.items()}
        notes = notes or (source.method, source.calibration, f"Published: {source.source}.")
    found = runs("block_size_sweep", source, serve)
    sized = {_size_of(name, run): run for name, run in found.items()}
    by_size = {size: sized[size] for size in sorted(sized)}
    slots = _pool_of(by_size.values()) if slots is None else slots
    rows = {size: means_of(run) for size, run in by_size.items()}
    notes = list(notes) or note_of(found)
    figure = _draw(rows, slots, published or {}, title or "Block size and memory", notes)
    return figure, _words(rows, notes)


def _size_of(name: str, run: Run) -> int:
    """The block size that a run has, or that is its name."""
    if isinstance(run, Timeline):
        return run.at(0).block_size
    size = run.block_size if isinstance(run, Simulation) else name
    if size is None or not str(size).isdecimal():
        raise UsageError(f"{name!r} has no block size: give paged runs, or {{block size: means}}")
    return int(size)


def _pool_of(found: Iterable[Run]) -> int:
    """The slots that all runs have, or those of the paper for bare means."""
    pools = {PAPER_POOL.slots if isinstance(r, Mapping) else log_of(r).pool for r in found}
    if len(pools) > 1:
        raise UsageError(f"the runs have pools of {sorted(pools)} slots: draw equal pools")
    return pools.pop()


def _words(rows: Mapping[int, Means], notes: Iterable[str]) -> str:
    """Per block size the token share, internal, and the batch."""
    texts = [
        f"{size}: token {row['token']:.1f}, internal {row['internal']:.1f}, "
        f"{row['batch']:.1f} requests at once"
        for size, row in rows.items()
    ]
    return " ".join([f"Percent of the cache's slots by block size. {'; '.join(texts)}.", *notes])


def _draw(
    rows: Mapping[int, Means],
    slots: int,
    published: Mapping[int, float],
    title: str,
    notes: Iterable[str],
) -> Picture:
    table = {
        "token": [row["token"] for row in rows.values()],
        "internal": [row["internal"] for row in rows.values()],
        HALF: [half_a_block_each(size, row["batch"], slots) for size, row in rows.items()],
        "requests at once": [row["batch"] for row in rows.values()],
    }
    shares = ", ".join(f"{share:.1f} for {size}" for size, share in published.items())
    marked = (
        [f"Diamond: what the published share of tokens ({shares}) leaves."] if published else []
    )
    most = max(100 - share for share in (*table["token"], *published.values()))
    body = 18.0 + COLUMNS + 20 + ROW * len(table)
    figure, sheet, y = page.sheet(
        title,
        f"Percent of the cache's {slots:,} slots without a token, on average",
        body,
        [RULE, *marked, *notes],
    )
    sheet.legend(LEFT, y, [p for p in EMPTY if any(r[p] >= SEEN for r in rows.values())])
    y += 18
    up = Scale(0, max(1.05 * most, 1.0), y + COLUMNS, y)
    sheet.left_axis(LEFT, up, page.ticks(up.high))
    pitch = (page.WIDTH - page.MARGIN - LEFT) / len(rows)
    middles = [LEFT + (place + 0.5) * pitch for place in range(len(rows))]
    y += COLUMNS + 10
    sheet.write(LEFT - 6, y, "block size", ha="right", bold=True)
    for x, (size, row) in zip(middles, rows.items(), strict=True):
        _column(sheet, x, min(0.72 * pitch, 44), row, up)
        if size in published:
            sheet.diamond(x, up(100 - published[size]))
        sheet.write(x, y, str(size), bold=True)
    _write_numbers(sheet, table, middles, y + 2)
    return figure


def _write_numbers(
    sheet: Sheet, table: Mapping[str, Iterable[float]], middles: Iterable[float], y: float
) -> None:
    """A row for each name, below ``y``, with a number in the middle of each column."""
    for name, numbers in table.items():
        y += ROW
        color = style.MUTED if name == HALF else style.INK
        sheet.write(LEFT - 6, y, name, ha="right", color=color)
        for x, number in zip(middles, numbers, strict=True):
            sheet.write(x, y, f"{number:.1f}", color=color)


def _column(sheet: Sheet, x: float, width: float, row: Means, up: Scale) -> None:
    below = 0.0
    for name in EMPTY:
        above = below + row[name]
        sheet.part(Box(x - width / 2, up(above), width, up(below) - up(above)), name)
        below = above
    sheet.rectangle(Box(x - width / 2, up(below), width, up(0) - up(below)), fill=None)
