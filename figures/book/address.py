"""Chapter 2: from a token's position to the place of its key in memory."""

from collections.abc import Sequence

from pagesim.cache import slots_of
from pagesim.figures.book.kit import ALICE, LOOK, MARGIN, S0, Sheet, drawing, in_blocks
from pagesim.figures.style import PAPER, Box
from pagesim.story import Story, Writer

SIZE, BLOCKS, POSITION = 4, 12, 9
HEADS, DIM = 2, 8
LEFT, CELL, ROW = 76.0, 57.0, 26.0
TABLE, POOL = 340.0, 425.0
"""Where the block table and the pool begin."""


def _writer() -> Writer:
    """A sequence whose blocks are scattered: earlier ones have come and gone."""
    story = Story(gpu_blocks=BLOCKS, block_size=SIZE, record=False)
    early = [story.arrive(range(100, 100 + count)) for count in (7, 13, 4, 10)]
    for place in (0, 3, 2):
        early[place].leave()
    return story.arrive(ALICE)


@drawing("From a token's position to its address: divide, look up, multiply", 324)
def address(sheet: Sheet) -> str:
    """Four steps: logical block and offset, block table, slot, place in the tensor."""
    ids, words = _writer().block_ids, in_blocks(ALICE.split(), SIZE)
    logical, offset = divmod(POSITION, SIZE)
    block = ids[logical]
    slot = int(slots_of(ids, [POSITION], SIZE)[0])
    divided = f"{POSITION} // {SIZE} = {logical}, {POSITION} % {SIZE} = {offset}"
    _step(sheet, MARGIN, 48, 1, f"position {POSITION}: {divided}")
    _step(sheet, TABLE - 9, 48, 2, "table")
    sheet.say(POOL, 48, "the pool", ha="left", bold=True)
    for number, mine in enumerate(words):
        _row(sheet, number, mine, ids[number])
    _pool(sheet, ids, block, 64 + (ROW + 6) * logical + ROW / 2)
    _step(sheet, MARGIN, 178, 3, f"slot = {block} · {SIZE} + {offset} = {slot}")
    _memory(sheet, block, offset, words[logical])
    return (
        f"Token {POSITION} of a sequence, with blocks of {SIZE}: it is in logical block {logical}, "
        f"at offset {offset}. The block table says that logical block {logical} is physical block "
        f"{block}; so its slot is {block} times {SIZE} plus {offset}, {slot}. In the "
        f"key tensor this is offset {offset} of block {block}: {HEADS} heads with {DIM} "
        "elements each."
    )


def _step(sheet: Sheet, x: float, y: float, number: int, text: str) -> None:
    sheet.step(x + 9, y, number)
    sheet.say(x + 25, y, text, ha="left", bold=True)


def _row(sheet: Sheet, number: int, words: Sequence[str], block: int) -> None:
    """A logical block, and its entry in the table."""
    y = 64 + (ROW + 6) * number
    fills = [LOOK if SIZE * number + i == POSITION else S0 for i in range(SIZE)]
    sheet.slots(Box(LEFT, y, CELL * SIZE, ROW), words, SIZE, fills)
    sheet.note(LEFT - 8, y + ROW / 2, f"logical {number}", ha="right")
    hit = number == POSITION // SIZE
    _id(sheet, Box(TABLE, y, 40, ROW), block, LOOK if hit else S0)
    if hit:
        sheet.arrow((LEFT + CELL * SIZE + 2, y + ROW / 2), (TABLE - 2, y + ROW / 2))


def _pool(sheet: Sheet, ids: list[int], wanted: int, level: float) -> None:
    """All physical blocks, and from the entry at ``level`` an arrow to the one it names."""
    for block in range(BLOCKS):
        box = Box(POOL + 26 * (block % 4), 64 + (ROW + 6) * (block // 4), 24, ROW)
        _id(sheet, box, block, LOOK if block == wanted else S0 if block in ids else PAPER)
        if block == wanted:
            sheet.arrow((TABLE + 41, level), (box.x - 2, level))


def _id(sheet: Sheet, box: Box, block: int, fill: str) -> None:
    """The id of a block, thick where the reader shall look."""
    hit = fill == LOOK
    sheet.node(box, str(block), fill=fill, width=1.8 if hit else 0.8, bold=hit)


def _memory(sheet: Sheet, block: int, offset: int, words: Sequence[str]) -> None:
    """The block in the key tensor, and the elements of the token's heads."""
    _step(sheet, MARGIN, 210, 4, f"k_cache[{block}, {offset}, head, dim]")
    for place in range(SIZE):
        box = Box(LEFT, 226 + 21 * place, 76, 21)
        fill = LOOK if place == offset else S0 if place < len(words) else PAPER
        word = words[place] if place < len(words) else ""
        sheet.node(box, word, fill=fill, width=0.7, bold=False)
        sheet.note(box.x - 8, box.center[1], f"offset {place}", ha="right")
    sheet.rectangle(Box(LEFT, 226, 76, 21 * SIZE), fill=None, width=1.8)
    y = 226 + 21 * (offset + 0.5)
    sheet.arrow((LEFT + 78, y), (188, y))
    for head in range(HEADS):
        box = Box(190 + 172 * head, y - 13, 166, 26)
        sheet.slots(box, [f"{i}" for i in range(DIM)], DIM, LOOK)
        sheet.note(box.x + 83, y + 24, f"head {head}: dim 0 to {DIM - 1}", ha="center")
    sheet.note(190, 298, f"element (({block} · {SIZE} + {offset}) · {HEADS} + head) · {DIM} + dim")
