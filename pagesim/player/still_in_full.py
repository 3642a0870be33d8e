"""A small cache in a still picture: tables and blocks, slot by slot, with their words."""

from pagesim.player.describe import name_text
from pagesim.player.sheet import BOLD, HALO, HATCH, HELD, INK, QUIET, short
from pagesim.player.still import GAP, MARGIN, NAME, ROW, SLOT, STRIP, TABLE, TOP, WIDTH, Still

BEFORE, OWNERS, BEHIND = 30, 56, 78  # beside a block: its id, its owners


def draw_tables(still: Still) -> float:
    """Logical blocks with their words, and the block table; returns where they end."""
    sheet, slot = still.sheet, min(SLOT, 4 * SLOT / still.size)
    sheet.text(MARGIN, TOP - 30, "Logical blocks", look=BOLD)
    sheet.text(TABLE, TOP - 30, "Block table", look=BOLD)
    sheet.text(TABLE + 17, TOP - 13, "block", look=QUIET, anchor="middle")
    sheet.text(TABLE + 52, TOP - 13, "filled", look=QUIET, anchor="middle")
    y = TOP - 8.0
    for name, table in still.cache.tables.items():
        sheet.paint(MARGIN, y + 4, 11, 11, still.looks[name])
        sheet.rect(MARGIN, y + 4, 11, 11, edge=0.9)
        sheet.text(MARGIN + 17, y + 14, short(name_text(name), 16), look=BOLD)
        sheet.text(MARGIN + 200, y + 14, f"{table.num_slots} tokens", look=QUIET, anchor="end")
        y += NAME
        for k, block in enumerate(table.block_ids):
            here = max(0, min(table.num_slots - k * still.size, still.size))
            _row(still, still.looks[name][0], block, k, y, slot, here)
            y += ROW
        y += GAP if table.block_ids else GAP + ROW
    if not still.cache.tables:
        sheet.text(MARGIN, TOP + 14, "no sequence holds any blocks", look=QUIET)
    return y


def _row(still: Still, color: str, block: int, k: int, y: float, slot: float, here: int) -> None:
    """A logical block, and its entry of the table."""
    sheet, x, table = still.sheet, MARGIN + 18, TABLE
    sheet.text(x - 5, y + 13, str(k), look=QUIET, anchor="end")
    due = still.cache.is_pending(block)
    wide = here or still.size * due
    for fill in (color, HATCH)[int(due) : 1 + (due or block >= still.gpu)]:
        sheet.rect(x, y, slot * wide, ROW, fill)
        sheet.rect(table, y, 34, ROW, fill)
    for i in range(still.size):
        sheet.rect(x + i * slot, y, slot, ROW, edge=0.5)
    sheet.rect(x, y, slot * still.size, ROW, edge=1.6)
    for i, word in enumerate(still.cache.words.get(block, [])[:here]):
        sheet.fitted(x + i * slot, y + 13, word, slot - 2, HALO)
    sheet.path(f"M{x + slot * still.size + 2:g} {y + ROW / 2:g}H{table - 2:g}",
               f'stroke="{HELD}"')  # fmt: skip
    sheet.rect(table, y, 34, ROW, edge=0.9)
    sheet.rect(table + 34, y, 36, ROW, edge=0.9)
    sheet.text(table + 17, y + 13, str(block), look=f"{BOLD} {HALO}", anchor="middle")
    sheet.text(table + 52, y + 13, str(here), anchor="middle")


def draw_strips(still: Still) -> float:
    """Blocks as rows of slots with their words; returns where they end."""
    sheet, all_columns = still.sheet, max(sum(still.columns), 1)
    left = TABLE + 70 + 24.0
    pitch = (WIDTH - MARGIN - left) / all_columns
    before = BEFORE + (still.frame + 4 if still.cache.groups else 0)
    slot = min(60, (pitch - before - BEHIND) / still.size)
    first, bottom, w = 0, float(TOP), slot * still.size
    for (name, count), columns in zip(still.pools, still.columns, strict=True):
        rows = -(-count // max(columns, 1))
        for column in range(columns):
            x = left + before
            if not column:
                sheet.text(x - before + 6, TOP - 30, f"{name} pool", look=BOLD)
            sheet.text(x - 6, TOP - 13, "block", look=QUIET, anchor="end")
            sheet.text(x, TOP - 13, "slots", look=QUIET)
            sheet.text(x + w + OWNERS, TOP - 13, "owners", look=QUIET, anchor="end")
            for row in range(min(rows, count - column * rows)):
                _strip(still, first + column * rows + row, x, TOP - 6 + row * STRIP, slot)
            left += pitch
        bottom = max(bottom, TOP + rows * STRIP)
        first += count
    return bottom


def _strip(still: Still, block: int, x: float, y: float, slot: float) -> None:
    sheet, shared = still.sheet, still.refs.get(block, 0)
    still.box(block, x, y, slot * still.size, STRIP - 5, across=True)
    wide = slot * still.size
    aside = still.letter(block, x - 3 - still.frame, y + 4) + 2 if still.cache.groups else 0
    if after := still.cache.states.get(block):
        sheet.fitted(x, y + 14, f"state after {after} tokens", wide - 4, HALO)
    size = still.cache.size_of(block) if block in still.cache.owners or not aside else 1
    for i in range(1, 1 if after else size):
        at = x + i * (wide / size if aside else slot)
        sheet.path(f"M{at:g} {y:g}v{STRIP - 5}", f'stroke="{INK}" stroke-width="0.4"')
    for i, word in enumerate(still.cache.words.get(block, [])):
        each = wide / size if aside else slot
        sheet.fitted(x + i * each, y + 14, word, each - 2, HALO)
    used = shared or block in still.cached
    sheet.text(x - 6 - aside, y + 14, str(block), look=BOLD if used else QUIET, anchor="end")
    names = still.owner_text(block)
    names = names if len(names) <= 7 else f"\u00d7{shared}" if shared > 1 else short(names, 7)
    look = BOLD if shared > 1 else ""
    sheet.text(x + slot * still.size + OWNERS, y + 14, names, look=look, anchor="end")
