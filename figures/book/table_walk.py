"""Chapter 3: a kernel walks over a block table, and meets the blocks in its order."""

from matplotlib.axes import Axes

from pagesim.cache import slots_of
from pagesim.figures import style
from pagesim.figures.book.kit import (
    INNER,
    LOOK,
    MARGIN,
    S0,
    SMALL,
    arrow,
    drawing,
    node,
    note,
    say,
    slots,
)
from pagesim.figures.style import HELD, Box

TEXT = "Alice was beginning to get very tired of sitting by"
TABLE, BLOCKS, SIZE = (5, 0, 3), 6, 4
"""As in the chapter: ten tokens in three blocks of a pool of six."""
POSITION = 9
ENTRY, POOL, CELL, ROW = 74.0, 268.0, 65.0, 32.0


@drawing("Reading through a table: in its order, wherever the blocks are", 356)
def table_walk(axes: Axes) -> str:
    """The table, the pool, what is read in which order, and the way to one token."""
    words = TEXT.split()
    entry, offset = divmod(POSITION, SIZE)
    slot = int(slots_of(TABLE, [POSITION], SIZE)[0])
    say(axes, ENTRY + 22, 46, "block table", bold=True)
    say(axes, POOL, 46, "the cache, block by block", ha="left", bold=True)
    for block in range(BLOCKS):
        y = _row(block)
        box = Box(POOL, y, CELL * SIZE, 26)
        if block in TABLE:
            place = TABLE.index(block)
            mine = words[SIZE * place : SIZE * (place + 1)]
            fills = [LOOK if SIZE * place + i == POSITION else S0 for i in range(SIZE)]
            slots(axes, box, mine, SIZE, fills)
        else:
            style.rectangle(axes, box, fill=HELD, width=0.8)
            note(axes, *box.center, "not in this table", ha="center", color=style.ink_on(HELD))
        note(axes, POOL - 6, y + 13, f"{block}", ha="right")
    for place, block in enumerate(TABLE):
        y = _row(1 + 1.5 * place) - 8
        hit = place == entry
        node(axes, Box(ENTRY, y, 44, 28), str(block), fill=LOOK if hit else S0)
        note(axes, ENTRY - 8, y + 14, f"entry {place}", ha="right")
        _order(axes, ENTRY + 64, y + 14, place)
        turn = (212.0, 194.0, 176.0)[place]
        end = _row(block) + 13
        arrow(axes, (ENTRY + 75, y + 14), (turn, y + 14), (turn, end), (POOL - 20, end), width=1.6)
    say(axes, MARGIN, 266, "what the kernel reads, in this order", ha="left", bold=True)
    each = (INNER - 16) / len(TABLE)
    for place in range(len(TABLE)):
        x = MARGIN + (each + 8) * place
        said = " ".join(words[SIZE * place : SIZE * (place + 1)])
        _order(axes, x + 9, 292, place)
        note(axes, x + 23, 292, said, color=style.INK)
    way = {
        f"position {POSITION}": 92.0,
        f"entry {POSITION} // {SIZE} = {entry}": 118.0,
        f"block {TABLE[entry]}": 74.0,
        f"offset {POSITION} % {SIZE} = {offset}": 118.0,
        f"slot {slot}": 58.0,
    }
    x = MARGIN
    for place, (text, wide) in enumerate(way.items()):
        node(axes, Box(x, 316, wide, 26), text, fill=LOOK, size=SMALL, bold=False)
        if place:
            arrow(axes, (x - 14, 329), (x - 1, 329))
        x += wide + 14
    return (
        f"The table {', '.join(map(str, TABLE))} of ten tokens, and a pool of {BLOCKS} blocks. The "
        f"kernel reads block {TABLE[0]} first, then {TABLE[1]}, then {TABLE[2]}: the order of the "
        f"table, and so the order of the text. Position {POSITION} is in entry {entry}; the entry "
        f"is block {TABLE[entry]}, and the offset is {offset}: slot {slot}."
    )


def _row(block: float) -> float:
    return 60 + ROW * block


def _order(axes: Axes, x: float, y: float, place: int) -> None:
    node(axes, Box(x - 9, y - 9, 18, 18), str(place + 1), fill=style.INK)
