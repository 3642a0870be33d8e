"""The picture of the first chapters: logical blocks → block tables → both pools, free lists.

From left to right: the logical blocks of each sequence, its block table, which says where they lie,
and the physical blocks of the GPU and the CPU pool. Below are the free lists, in the order in which
blocks will be taken. The layout is that of the PagedAttention paper (Kwon et al., 2023, Figure 6).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Unpack

from pagesim.figures import style
from pagesim.figures.cache_view import Cache, Reading, cache_view, framed_blocks
from pagesim.figures.charts.cache_words import words
from pagesim.figures.charts.free_lists import LEGEND_HEIGHT, draw_legend, draw_strips, strips_height
from pagesim.figures.charts.pool_map import draw_map
from pagesim.figures.charts.pools import (
    OWNERS,
    ROW,
    Plug,
    draw_pools,
    draw_slots,
    draw_wires,
    has_strips,
    place_cells,
    place_strips,
)
from pagesim.figures.sheet import Sheet, blank
from pagesim.figures.style import MARGIN, Box, Picture
from pagesim.journal.effects import Name
from pagesim.player.cache_view import CacheView
from pagesim.player.describe import counted

MAX_SEQUENCES, MAX_BLOCKS, MAX_POOL = 6, 10, 64
MAX_WIRES = 12
HEADINGS, NAME_ROW, GAP = 22.0, 19.0, 9.0
INDEX, ARROW, ID_COLUMN, FILLED_COLUMN = 16.0, 30.0, 34.0, 30.0
WIRE_ROOM, PLAIN_ROOM = 84.0, 26.0

TokenLabels = Mapping[int, str] | Callable[[int], str]


def fits(cache: CacheView) -> bool:
    """Whether every block can have its own readable cell; `pool_map` draws what does not fit."""
    return (
        len(cache.tables) <= MAX_SEQUENCES
        and all(len(table.block_ids) <= MAX_BLOCKS for table in cache.tables.values())
        and all(len(ids) <= MAX_POOL for ids in cache.pools.values())
    )


@style.picture
def block_layout(
    source: Cache,
    *,
    highlight: Iterable[int] | None = None,
    title: str | None = None,
    arrows: bool | None = None,
    tokens: TokenLabels | None = None,
    **reading: Unpack[Reading],
) -> tuple[Picture, str]:
    """Draw a cache, from each token to the physical block that holds it.

    `source` is a block manager, a scheduler, a State, a Simulation with record=True, or a Timeline
    or its file; a run is drawn after ``step=`` events (by default all). ``names={0: "A"}`` labels
    sequences, and ``order=`` fixes their colours. `highlight` frames blocks by absolute id.
    `tokens` labels token ids with a mapping or a function; the default is the run's own words, or
    the id. Up to 24 blocks are strips of slots with their tokens; more are cells. By default,
    `arrows` from the tables to strips are drawn if there are at most 12 table entries. A cache with
    more than 6 sequences, 10 blocks in a table or 64 blocks in a pool becomes a `pool_map`.
    TypeError if ``source`` holds no pages, UsageError for a highlighted id outside the pools.
    """
    cache = cache_view(source, **reading)
    framed = framed_blocks(cache, highlight)
    if not fits(cache):
        return draw_map(cache, framed, title), words(cache)
    entries = sum(len(table.block_ids) for table in cache.tables.values())
    are_strips = has_strips(cache)
    wired = are_strips and (entries <= MAX_WIRES if arrows is None else arrows)
    room = WIRE_ROOM if wired else PLAIN_ROOM
    inner, right = style.WIDTH - 2 * MARGIN, style.WIDTH - MARGIN
    body = MARGIN + HEADINGS + (24.0 if title else 0.0)
    labels = _labels(cache, tokens)
    if are_strips:
        spare = inner - INDEX - ARROW - ID_COLUMN - FILLED_COLUMN - room - OWNERS
        pools = place_strips(cache, right, body, _slot(cache, labels, spare / 2))
    else:
        pools = place_cells(cache, right, body)
    tables = sum(NAME_ROW + max(len(t.block_ids), 1) * ROW + GAP for t in cache.tables.values())
    # Beside strips there is room for the lists; cells go as far to the left as tables do.
    lists = Box(MARGIN, body + tables + 6, pools.left - room - MARGIN if are_strips else inner, 0)
    if not are_strips:
        lists = replace(lists, y=max(lists.y, pools.bottom + GAP + 6))
    legend = max(lists.y + strips_height(cache, lists.w), pools.bottom + GAP)
    height = legend + LEGEND_HEIGHT + MARGIN

    figure, sheet = blank(style.WIDTH, height, title)
    plugs = _draw_sequences(sheet, cache, framed, labels, body, pools.left - room)
    draw_pools(sheet, cache, pools, framed, labels)
    if wired:
        draw_wires(sheet, cache, plugs, pools)
    draw_strips(sheet, cache, lists, framed)
    draw_legend(sheet, cache, Box(MARGIN, legend, inner, 0), bool(framed))
    return figure, words(cache)


def _labels(cache: CacheView, tokens: TokenLabels | None) -> dict[int, str]:
    """Token id → the text that stands for it, for every token in the cache."""
    ids = {token for table in cache.tables.values() for token in table.token_ids}
    if tokens is None:
        tokens = cache.token_words
    if callable(tokens):
        return {token: tokens(token) for token in ids}
    return {token: tokens.get(token, str(token)) for token in ids}


def _slot(cache: CacheView, labels: dict[int, str], room: float) -> float:
    """The width of a slot: as wide as the widest token, if a block then fits into the room."""
    widest = max((style.text_width(label) + 5 for label in labels.values()), default=0.0)
    return min(max(widest, 34.0), room / cache.block_size)


def _draw_sequences(
    sheet: Sheet,
    cache: CacheView,
    framed: Collection[int],
    labels: dict[int, str],
    top: float,
    right: float,
) -> list[Plug]:
    """Draw the two left columns; return where the wires begin, one plug a table entry."""
    slots_x, size = MARGIN + INDEX, cache.block_size
    room = right - ID_COLUMN - FILLED_COLUMN - ARROW - slots_x
    slot = _slot(cache, labels, room)
    table_x = slots_x + slot * size + ARROW + (room - slot * size) / 2
    for x, heading in ((MARGIN, "Logical blocks"), (table_x, "Block table")):
        sheet.write(x, top - 12, heading, size=style.HEADING, ha="left", bold=True)
    plugs, y = list[Plug](), top
    for name, table in cache.tables.items():
        _name(sheet, cache, name, y)
        if not table.block_ids:
            sheet.write(slots_x, y + 27, "no blocks", ha="left", color=style.MUTED)
            y += NAME_ROW + GAP + ROW
            continue
        for word, at in (("block", ID_COLUMN / 2), ("filled", ID_COLUMN + FILLED_COLUMN / 2)):
            sheet.write(table_x + at, y + 12, word, color=style.MUTED)
        y += NAME_ROW
        color = cache.color(name)
        for index, block_id in enumerate(table.block_ids):
            hatch, fill = style.hatch_of(cache, block_id), table.fill[index]
            sheet.write(MARGIN + 5, y + ROW / 2, str(index), color=style.MUTED)
            row = Box(slots_x, y, slot * size, ROW)
            texts = [labels[token] for token in cache.tokens(name, index)]
            draw_slots(sheet, row, (fill, size), texts, [color], hatch)
            sheet.rectangle(row, fill=None, width=1.6)
            sheet.level_arrow(row.x + row.w + 4, table_x - 3, y + ROW / 2)
            entry = Box(table_x, y, ID_COLUMN + FILLED_COLUMN, ROW)
            _entry(sheet, entry, block_id, fill, color, hatch, block_id in framed)
            plugs.append(Plug(name, block_id, entry.x + entry.w, y + ROW / 2))
            y += ROW
        y += GAP
    return plugs


def _name(sheet: Sheet, cache: CacheView, name: Name, y: float) -> None:
    """The heading of a sequence: its colour, its label, and how many tokens it has where."""
    table = cache.tables[name]
    away = [block_id for block_id in table.block_ids if cache.is_away(block_id)]
    swatch = Box(MARGIN, y + 5.5, 11, 10)
    sheet.rectangle(swatch, fill=cache.color(name), hatch=style.CPU_HATCH if away else "")
    text = f"{name}: {counted(table.num_tokens, 'token')}{', on the CPU' if away else ''}"
    sheet.write(MARGIN + 16, y + 11, text, size=9, ha="left", bold=True)


def _entry(
    sheet: Sheet, box: Box, block_id: int, fill: int, color: str, hatch: str, framed: bool
) -> None:
    """One row of a block table: the physical id in the sequence's colour, the filled slots."""
    first = Box(box.x, box.y, ID_COLUMN, box.h)
    second = Box(box.x + ID_COLUMN, box.y, FILLED_COLUMN, box.h)
    sheet.rectangle(first, fill=color, hatch=hatch)
    sheet.rectangle(second)
    ink = style.INK if hatch else style.ink_on(color)
    sheet.write(*first.center, str(block_id), bold=True, color=ink, pill=bool(hatch))
    sheet.write(*second.center, str(fill))
    if framed:
        sheet.frame(box)
