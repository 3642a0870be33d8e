"""Chapter 2: from a token's position to the place of its key in memory."""

from matplotlib.axes import Axes

from pagesim.cache import slots_of
from pagesim.figures import style
from pagesim.figures.book.kit import LOOK, MARGIN, S0, arrow, drawing, node, note, say, slots
from pagesim.figures.style import PAPER, Box
from pagesim.story import Story, Writer

SIZE, BLOCKS, POSITION = 4, 12, 9
HEADS, DIM = 2, 8
TEXT = "Alice was beginning to get very tired of sitting by"
LEFT, CELL, ROW = 76.0, 57.0, 26.0
TABLE, POOL = 340.0, 425.0
"""Where the block table and the pool begin."""


def _writer() -> Writer:
    """A sequence whose blocks are scattered: earlier ones have come and gone."""
    story = Story(gpu_blocks=BLOCKS, block_size=SIZE, record=False)
    early = [story.arrive(range(100, 100 + count)) for count in (7, 13, 4, 10)]
    for place in (0, 3, 2):
        early[place].leave()
    return story.arrive(TEXT)


@drawing("From a token's position to its address: divide, look up, multiply", 324)
def address(axes: Axes) -> str:
    """Four steps: logical block and offset, block table, slot, place in the tensor."""
    ids, words = _writer().block_ids, TEXT.split()
    logical, offset = divmod(POSITION, SIZE)
    slot = int(slots_of(ids, [POSITION], SIZE)[0])
    divided = f"{POSITION} // {SIZE} = {logical}, {POSITION} % {SIZE} = {offset}"
    _step(axes, MARGIN, 48, 1, f"position {POSITION}: {divided}")
    _step(axes, TABLE - 9, 48, 2, "table")
    say(axes, POOL, 48, "the pool", ha="left", bold=True)
    for number, block in enumerate(ids):
        y = 64 + (ROW + 6) * number
        hit = number == logical
        fills = [LOOK if SIZE * number + i == POSITION else S0 for i in range(SIZE)]
        mine = words[SIZE * number : SIZE * (number + 1)]
        slots(axes, Box(LEFT, y, CELL * SIZE, ROW), mine, SIZE, fills)
        note(axes, LEFT - 8, y + ROW / 2, f"logical {number}", ha="right")
        box = Box(TABLE, y, 40, ROW)
        node(axes, box, str(block), fill=LOOK if hit else S0, width=1.8 if hit else 0.8, bold=hit)
        if hit:
            arrow(axes, (LEFT + CELL * SIZE + 2, y + ROW / 2), (TABLE - 2, y + ROW / 2))
    _pool(axes, ids, ids[logical], 64 + (ROW + 6) * logical + ROW / 2)
    _step(axes, MARGIN, 178, 3, f"slot = {ids[logical]} · {SIZE} + {offset} = {slot}")
    _memory(axes, ids[logical], offset, words[SIZE * logical :])
    return (
        f"Token {POSITION} of a sequence, with blocks of {SIZE}: it is in logical block {logical}, "
        f"at offset {offset}. The block table says that logical block {logical} is physical block "
        f"{ids[logical]}; so its slot is {ids[logical]} times {SIZE} plus {offset}, {slot}. In the "
        f"key tensor this is offset {offset} of block {ids[logical]}: {HEADS} heads with {DIM} "
        "elements each."
    )


def _step(axes: Axes, x: float, y: float, number: int, text: str) -> None:
    node(axes, Box(x, y - 9, 18, 18), str(number), fill=style.INK)
    say(axes, x + 25, y, text, ha="left", bold=True)


def _pool(axes: Axes, ids: list[int], wanted: int, level: float) -> None:
    for block in range(BLOCKS):
        box = Box(POOL + 26 * (block % 4), 64 + (ROW + 6) * (block // 4), 24, ROW)
        hit = block == wanted
        fill = LOOK if hit else S0 if block in ids else PAPER
        node(axes, box, str(block), fill=fill, width=1.8 if hit else 0.8, bold=hit)
        if hit:
            arrow(axes, (TABLE + 41, level), (box.x - 2, level))


def _memory(axes: Axes, block: int, offset: int, words: list[str]) -> None:
    _step(axes, MARGIN, 210, 4, f"k_cache[{block}, {offset}, head, dim]")
    for place in range(SIZE):
        box = Box(LEFT, 226 + 21 * place, 76, 21)
        fill = LOOK if place == offset else S0 if place < len(words) else PAPER
        style.rectangle(axes, box, fill=fill, width=0.7)
        if place < len(words):
            say(axes, *box.center, words[place], color=style.ink_on(fill))
        note(axes, box.x - 8, box.center[1], f"offset {place}", ha="right")
    style.rectangle(axes, Box(LEFT, 226, 76, 21 * SIZE), fill=None, width=1.8)
    y = 226 + 21 * (offset + 0.5)
    arrow(axes, (LEFT + 78, y), (188, y))
    for head in range(HEADS):
        box = Box(190 + 172 * head, y - 13, 166, 26)
        slots(axes, box, [f"{i}" for i in range(DIM)], DIM, LOOK)
        note(axes, box.x + 83, y + 24, f"head {head}: dim 0 to {DIM - 1}", ha="center")
    note(axes, 190, 298, f"element (({block} · {SIZE} + {offset}) · {HEADS} + head) · {DIM} + dim")
