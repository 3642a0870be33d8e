"""Below the pools: the lists in which blocks without owners wait, front first, and the legend."""

from collections.abc import Collection

from pagesim.figures import style
from pagesim.figures.sheet import Sheet
from pagesim.figures.style import Box
from pagesim.player.cache_view import CacheView

CHIP_W, CHIP_H, CHIP_PITCH, CHIP_ROW = 19.0, 15.0, 20.0, 18.0
LABEL = 84.0
MAX_ROWS = 2
ABOVE, BELOW = 13.0, 3.0
LEGEND_HEIGHT = 24.0


def _a_row(width: float) -> int:
    return int((width - LABEL - 30) // CHIP_PITCH)


def _rows(ids: tuple[int, ...], width: float) -> int:
    return min(max(-(-len(ids) // _a_row(width)), 1), MAX_ROWS)


def strips_height(cache: CacheView, width: float) -> float:
    """How much room the lists take, in points."""
    rows = [_rows(ids, width) for ids in cache.state.lists.values()]
    return sum(count * CHIP_ROW + ABOVE + BELOW for count in rows)


def draw_strips(sheet: Sheet, cache: CacheView, box: Box, framed: Collection[int]) -> float:
    """The lists of the state; in a free list the block to be taken next is marked.

    What does not fit into two rows is counted at their end. Returns where the lists end.
    """
    a_row = _a_row(box.w)
    y = box.y
    for name, ids in cache.state.lists.items():
        y += ABOVE
        x = box.x + LABEL
        sheet.write(box.x, y + CHIP_H / 2, name, size=9, ha="left", bold=True)
        is_free = name.endswith(("free list", "free queue"))
        if ids and is_free:
            sheet.triangle(x + CHIP_W / 2, y - 1.8)
            sheet.write(x + CHIP_W / 2 + 7, y - 5.5, "next", ha="left", bold=True)
        if not ids:
            sheet.write(x, y + CHIP_H / 2, "empty", ha="left", color=style.MUTED)
        shown = ids[: a_row * MAX_ROWS]
        for place, block_id in enumerate(shown):
            row, column = divmod(place, a_row)
            chip = Box(x + column * CHIP_PITCH, y + row * CHIP_ROW, CHIP_W, CHIP_H)
            first = is_free and place == 0
            sheet.rectangle(chip, width=style.THICK if first else style.THIN)
            sheet.write(*chip.center, str(block_id), bold=first)
            if block_id in framed:
                sheet.frame(chip)
        y += _rows(ids, box.w) * CHIP_ROW + BELOW
        if len(shown) < len(ids):
            end = x + a_row * CHIP_PITCH + 2
            more = f"+{len(ids) - len(shown)}"
            sheet.write(end, y - BELOW - CHIP_ROW / 2, more, ha="left", color=style.MUTED)
    return y


def draw_legend(sheet: Sheet, cache: CacheView, box: Box, framed: bool) -> None:
    """One line that says what fill, hatch, edge and frame mean, if they occur."""
    entries = [("fill", "fill: slots with tokens"), ("free", "blank: free")]
    if other := list(cache.pools)[1:]:
        entries.append(("hatch", f"hatched: {', '.join(other)}"))
    if cache.shared():
        entries.append(("shared", f"thick, {style.TIMES}2: shared"))
    if held := cache.held():
        is_null = held == [cache.state.null_block]
        entries.append(("held", "grey: null block" if is_null else "grey: held, but in no table"))
    if framed:
        entries.append(("frame", "dashed: look here"))
    x, y = box.x + 3, box.y + 8
    for kind, text in entries:
        swatch = Box(x, y, 12, 11)
        sheet.rectangle(swatch, fill=style.HELD if kind == "held" else style.PAPER, edge=None)
        if kind in {"fill", "hatch", "shared"}:
            hatch = style.CPU_HATCH if kind == "hatch" else ""
            sheet.fill_from_below(swatch, 0.6, [style.HELD], hatch)
        sheet.rectangle(swatch, fill=None, width=style.THICK if kind == "shared" else style.THIN)
        if kind == "frame":
            sheet.frame(swatch)
        sheet.write(x + 18, y + 6, text, ha="left", color=style.MUTED)
        x += 36 + style.text_width(text)
