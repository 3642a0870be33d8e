"""Chapter 3: a kernel walks over a block table, and meets the blocks in its order."""

from pagesim.cache import slots_of
from pagesim.figures import style
from pagesim.figures.book.kit import (
    ALICE,
    INNER,
    LOOK,
    MARGIN,
    S0,
    SMALL,
    Sheet,
    drawing,
    in_blocks,
)
from pagesim.figures.style import HELD, Box

TABLE, BLOCKS, SIZE = (5, 0, 3), 6, 4
"""As in the chapter: ten tokens in three blocks of a pool of six."""
POSITION = 9
WORDS = in_blocks(ALICE.split(), SIZE)
ENTRY, POOL, CELL, ROW = 74.0, 268.0, 65.0, 32.0
TURNS = 212.0, 194.0, 176.0
"""Where the way from an entry to its block goes up or down."""


@drawing("Reading through a table: in its order, wherever the blocks are", 356)
def table_walk(sheet: Sheet) -> str:
    """The table, the pool, what is read in which order, and the way to one token."""
    entry, offset = divmod(POSITION, SIZE)
    slot = int(slots_of(TABLE, [POSITION], SIZE)[0])
    sheet.say(ENTRY + 22, 46, "block table", bold=True)
    sheet.say(POOL, 46, "the cache, block by block", ha="left", bold=True)
    for block in range(BLOCKS):
        _block(sheet, block)
    for place, block in enumerate(TABLE):
        _entry(sheet, place, block, hit=place == entry)
    _reading(sheet)
    way = {
        f"position {POSITION}": 92.0,
        f"entry {POSITION} // {SIZE} = {entry}": 118.0,
        f"block {TABLE[entry]}": 74.0,
        f"offset {POSITION} % {SIZE} = {offset}": 118.0,
        f"slot {slot}": 58.0,
    }
    _way(sheet, way)
    return (
        f"The table {', '.join(map(str, TABLE))} of ten tokens, and a pool of {BLOCKS} blocks. The "
        f"kernel reads block {TABLE[0]} first, then {TABLE[1]}, then {TABLE[2]}: the order of the "
        f"table, and so the order of the text. Position {POSITION} is in entry {entry}; the entry "
        f"is block {TABLE[entry]}, and the offset is {offset}: slot {slot}."
    )


def _row(block: float) -> float:
    return 60 + ROW * block


def _block(sheet: Sheet, block: int) -> None:
    """A block of the pool, with its tokens if the table names it."""
    box = Box(POOL, _row(block), CELL * SIZE, 26)
    x, middle = box.center
    if block in TABLE:
        place = TABLE.index(block)
        fills = [LOOK if SIZE * place + i == POSITION else S0 for i in range(SIZE)]
        sheet.slots(box, WORDS[place], SIZE, fills)
    else:
        sheet.rectangle(box, fill=HELD, width=0.8)
        sheet.note(x, middle, "not in this table", ha="center", color=style.ink_on(HELD))
    sheet.note(POOL - 6, middle, str(block), ha="right")


def _entry(sheet: Sheet, place: int, block: int, hit: bool) -> None:
    """An entry of the table, with an arrow to its block."""
    y = _row(1 + 1.5 * place) - 8
    sheet.node(Box(ENTRY, y, 44, 28), str(block), fill=LOOK if hit else S0)
    sheet.note(ENTRY - 8, y + 14, f"entry {place}", ha="right")
    sheet.step(ENTRY + 64, y + 14, place + 1)
    turn, end = TURNS[place], _row(block) + 13
    sheet.arrow((ENTRY + 75, y + 14), (turn, y + 14), (turn, end), (POOL - 20, end), width=1.6)


def _reading(sheet: Sheet) -> None:
    """The text as the kernel meets it."""
    sheet.say(MARGIN, 266, "what the kernel reads, in this order", ha="left", bold=True)
    each = (INNER - 16) / len(TABLE)
    for place, words in enumerate(WORDS):
        x = MARGIN + (each + 8) * place
        sheet.step(x + 9, 292, place + 1)
        sheet.note(x + 23, 292, " ".join(words), color=style.INK)


def _way(sheet: Sheet, way: dict[str, float]) -> None:
    """From a position to its slot: the stations with their widths."""
    x = MARGIN
    for place, (text, wide) in enumerate(way.items()):
        sheet.node(Box(x, 316, wide, 26), text, fill=LOOK, size=SMALL, bold=False)
        if place:
            sheet.arrow((x - 14, 329), (x - 1, 329))
        x += wide + 14
