"""A large cache in a still picture, without words: a line for a sequence, a cell for a block."""

from pagesim.player.describe import name_text
from pagesim.player.sheet import BOLD, HALO, QUIET, short
from pagesim.player.still import LINE, MARGIN, MAX_HEIGHT, TOP, WIDTH, Still

MAX_LINES, MAX_CHIPS = 16, 8
LEFT = 372
# Width and height of a cell, gap, and whether its id fits: the first one that fits is used.
CELLS = ((52, 38, 6, True), (28, 20, 3, True), (14, 12, 2, False), (7, 7, 1, False))


def draw_lines(still: Still) -> float:
    """A line for each of the first sequences; returns where they end."""
    sheet, y = still.sheet, float(TOP)
    sheet.text(MARGIN, TOP - 30, "Sequences", look=BOLD)
    sheet.text(MARGIN + 108, TOP - 12, "tokens", look=QUIET, anchor="end")
    column = "row of slots" if still.rows else "block table"
    sheet.text(MARGIN + 114, TOP - 12, column, look=QUIET)
    tables = still.cache.tables
    late = [name for name in [*tables][MAX_LINES:] if still.near and still.is_near(name)]
    for name in [*tables][: MAX_LINES - len(late)] + late:
        table = tables[name]
        ids = table.block_ids
        sheet.paint(MARGIN, y, 11, 13, still.looks[name])
        sheet.rect(MARGIN, y, 11, 13, edge=0.9)
        sheet.text(MARGIN + 16, y + 11, short(name_text(name), 8), look=BOLD)
        sheet.text(MARGIN + 108, y + 11, str(table.num_slots), look=QUIET, anchor="end")
        if still.rows and ids:
            last = (ids[-1] + 1) * still.size - 1
            sheet.text(MARGIN + 114, y + 11, f"{ids[0] * still.size}\u2013{last}")
        for place, block in enumerate(() if still.rows else ids[:MAX_CHIPS]):
            x = MARGIN + 114 + place * 26
            still.box(block, x, y - 2, 25, 15, across=False)
            sheet.text(x + 12.5, y + 10, str(block), look=HALO, anchor="middle")
        if len(ids) > MAX_CHIPS and not still.rows:
            sheet.text(MARGIN + 116 + MAX_CHIPS * 26, y + 11, f"+{len(ids) - MAX_CHIPS}")
        y += LINE
    if (more := len(tables) - MAX_LINES) > 0:
        sheet.text(MARGIN, y + 11, f"and {more} more", look=QUIET)
        y += LINE
    return y


def draw_boxes(still: Still) -> float:
    """A cell for each block, or contiguous memory without gaps; returns where they end."""
    sheet, left = still.sheet, WIDTH / 4 if still.rows else LEFT
    (gpu_name, gpu), (cpu_name, cpu) = still.pools
    room = WIDTH - MARGIN - left
    for cell in CELLS:
        w, h, gap, named = cell
        if still.rows:
            w, h, gap, named = min(w, 24), max(h // 2, 7), 0, False
        columns = int((room - 24 + gap) // (w + gap))
        right = max(columns // 3, 1) if cpu else 0
        pitch = h + (12 if still.rows else gap)
        rows = max(-(-gpu // (columns - right)), -(-cpu // max(right, 1)))
        if rows * pitch <= MAX_HEIGHT:
            break
    start = left + (columns - right) * (w + gap) - gap + 24
    what = "memory, in slots" if still.rows else "pool"
    for heading, x, first, count, across in (
        (f"{gpu_name} {what}", left, 0, gpu, columns - right),
        (f"{cpu_name} pool", start, gpu, cpu, right),
    ):
        if count:
            sheet.text(x, TOP - 30, heading, look=BOLD)
        for place in range(count):
            row, column = divmod(place, across)
            at, y = x + column * (w + gap), TOP + row * pitch
            if still.rows and not column:
                sheet.text(at - 5, y + h, str(place * still.size), look=QUIET, anchor="end")
            still.box(first + place, at, y, w, h, across=still.rows)
            if named:
                draw_name(still, first + place, at, y, w, h)
            if h <= 24:
                still.kind(still.cache.group_of(first + place), at, y, w, h)
    return float(TOP + rows * pitch)


def draw_name(still: Still, block: int, x: float, y: float, w: float, h: float) -> None:
    """A block's number, and where there is room how many own it, and who."""
    shared = still.refs.get(block, 0)
    look = f"{BOLD} {HALO}" if shared or block in still.cached else QUIET
    still.sheet.text(x + 3, y + 13, str(block), look=look)
    if h <= 24:
        return
    if shared > 1:
        still.sheet.text(x + w - 9, y + 13, f"\u00d7{shared}", look=HALO, anchor="end")
    aside = still.letter(block, x, y + h - 13)
    still.sheet.fitted(x + aside, y + h - 6, still.owner_text(block), w - aside - 4, HALO)
