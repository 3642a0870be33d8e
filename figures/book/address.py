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


def _writer() -> Writer:
    """A sequence whose blocks are scattered: earlier ones have come and gone."""
    story = Story(gpu_blocks=BLOCKS, block_size=SIZE, record=False)
    early = [story.arrive(range(100, 100 + count)) for count in (7, 13, 4, 10)]
    for place in (0, 3, 2):
        early[place].leave()
    return story.arrive(TEXT)


@drawing("From a token's position to its address: divide, look up, multiply", 374)
def address(axes: Axes) -> str:
    """Four steps: logical block and row, block table, slot, offset in the tensor."""
    ids, words = _writer().block_ids, TEXT.split()
    logical, row = divmod(POSITION, SIZE)
    slot = int(slots_of(ids, [POSITION], SIZE)[0])
    for number in range(len(ids)):
        x = MARGIN + 10 + 210 * number
        mine = words[SIZE * number : SIZE * (number + 1)]
        fills = [LOOK if SIZE * number + i == POSITION else S0 for i in range(SIZE)]
        slots(axes, Box(x, 62, 196, 24), mine, SIZE, fills)
        note(axes, x + 98, 52, f"logical block {number}", ha="center")
    token = MARGIN + 10 + 210 * logical + 49 * (row + 0.5)
    _step(
        axes,
        MARGIN,
        112,
        1,
        f"position {POSITION}: {POSITION} // {SIZE} = {logical}, {POSITION} % {SIZE} = {row}",
    )
    arrow(axes, (token, 87), (token, 112), (245, 112))
    _table(axes, ids, logical)
    _pool(axes, ids, ids[logical])
    target, below = 281 + 64 * (ids[logical] % 6), 171 + 22 * logical
    arrow(axes, (MARGIN + 119, below), (230, below), (230, 229), (target, 229), (target, 220))
    _step(axes, 252, 250, 3, f"slot = {ids[logical]} · {SIZE} + {row} = {slot}")
    _memory(axes, ids[logical], row, words[SIZE * logical :])
    return (
        f"Token {POSITION} of a sequence, with blocks of {SIZE}: it is in logical block {logical}, "
        f"row {row}. The block table says that logical block {logical} is physical block "
        f"{ids[logical]}; so its slot is {ids[logical]} times {SIZE} plus {row}, {slot}. In the "
        f"key tensor this is row {row} of block {ids[logical]}: {HEADS} heads with {DIM} numbers "
        "each."
    )


def _step(axes: Axes, x: float, y: float, number: int, text: str) -> None:
    node(axes, Box(x, y - 8, 16, 16), str(number), fill=style.INK)
    say(axes, x + 22, y, text, ha="left", bold=True)


def _table(axes: Axes, ids: list[int], logical: int) -> None:
    _step(axes, MARGIN, 144, 2, "block table")
    for place, block in enumerate(ids):
        box = Box(MARGIN + 74, 160 + 22 * place, 44, 22)
        hit = place == logical
        node(axes, box, str(block), fill=LOOK if hit else S0, width=1.6 if hit else 0.8, bold=hit)
        note(axes, box.x - 8, box.center[1], f"logical {place}", ha="right")


def _pool(axes: Axes, ids: list[int], wanted: int) -> None:
    say(axes, 252, 144, "the pool of physical blocks", ha="left", bold=True)
    for block in range(BLOCKS):
        box = Box(252 + 64 * (block % 6), 156 + 34 * (block // 6), 58, 28)
        fill = LOOK if block == wanted else S0 if block in ids else PAPER
        node(
            axes,
            box,
            str(block),
            fill=fill,
            width=1.8 if block == wanted else 0.8,
            bold=block == wanted,
        )


def _memory(axes: Axes, block: int, row: int, words: list[str]) -> None:
    _step(axes, MARGIN, 282, 4, f"k_cache[{block}, {row}, head, dim]")
    for place in range(SIZE):
        box = Box(MARGIN + 74, 296 + 16 * place, 96, 16)
        hit = place == row
        fill = LOOK if hit else S0 if place < len(words) else PAPER
        style.rectangle(axes, box, fill=fill, width=0.7)
        if place < len(words):
            say(axes, *box.center, words[place], size=9, color=style.ink_on(fill))
        note(axes, box.x - 8, box.center[1], f"row {place}", ha="right")
    style.rectangle(axes, Box(MARGIN + 74, 296, 96, 16 * SIZE), fill=None, width=1.8)
    y = 296 + 16 * (row + 0.5)
    arrow(axes, (MARGIN + 171, y), (250, y))
    for head in range(HEADS):
        box = Box(252 + 194 * head, y - 12, 188, 24)
        slots(axes, box, [f"{i}" for i in range(DIM)], DIM, LOOK)
        note(axes, box.x + 94, y + 22, f"head {head}: dim 0 to {DIM - 1}", ha="center")
    note(
        axes,
        252,
        358,
        f"number (({block} · {SIZE} + {row}) · {HEADS} + head) · {DIM} + dim of the tensor",
    )
