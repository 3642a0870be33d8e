"""Chapter on the CUDA kernel: one thread block, from the query to the output."""

from pagesim.figures.book.kit import COLORS, LOOK, MARGIN, WIDTH, Sheet, data, drawing
from pagesim.figures.style import Box

LEFT, WIDE, PITCH = 156.0, 84.0, 96.0
RIGHT = WIDTH - MARGIN
STAGES = {  # where each is, and what is said of it
    "1. q · k": (62.0, "a warp takes\nevery 4th block"),
    "2. maximum": (170.0, "shuffles, then\nshared memory"),
    "3. e^(s - m)": (228.0, "all threads,\nthen ÷ the sum"),
    "4. weights · V": (292.0, "a lane takes some\ndimensions of V"),
    "5. sums": (352.0, "shuffles, then\na tree of warps"),
}


@drawing("The CUDA kernel: four warps share the blocks twice, and meet in between", 456)
def cuda_stages(sheet: Sheet) -> str:
    """Five stages under each other, a warp a column."""
    found = data("thread_map")
    warps, order = found["config"]["num_warps"], found["warp_of_block"]
    for name, (y, text) in STAGES.items():
        sheet.say(MARGIN, y - 14, name, ha="left", bold=True)
        sheet.note(MARGIN, y + 10, text)
    for warp in range(warps):
        _column(sheet, warp, [block for block, its in enumerate(order) if its == warp])
    _scores(sheet, order)
    _meeting(sheet)
    _tree(sheet)
    return (
        f"One thread block has {warps} warps. 1: each warp takes every fourth block, multiplies q "
        "with its keys, and writes the scores to shared memory. 2: the maximum, first within each "
        "warp, then over the warps. 3: all threads turn the scores into exponentials and divide by "
        "their sum. 4: each warp takes the same blocks again, and multiplies the weights with the "
        "values. 5: the lanes' sums are added in each warp, the warps' in a tree, and warp 0 "
        "writes."
    )


def _column(sheet: Sheet, warp: int, blocks: list[int]) -> None:
    """What one warp does alone: its blocks twice, then its sums."""
    x, color = LEFT + PITCH * warp, COLORS[warp]
    says = f"blocks {', '.join(map(str, blocks))}"
    for name in ("1. q · k", "4. weights · V"):
        y, _ = STAGES[name]
        sheet.node(Box(x, y - 20, WIDE, 40), f"warp {warp}", says, fill=color)
    for start, end in ((82, 104), (128, 150), (246, 270), (312, 334)):
        sheet.arrow((x + WIDE / 2, start), (x + WIDE / 2, end))
    sheet.node(Box(x, 336, WIDE, 26), f"sums {warp}", fill=color)


def _scores(sheet: Sheet, order: list[int]) -> None:
    """Shared memory: a stretch for each block, in the colour of its warp."""
    each = (RIGHT - LEFT) / len(order)
    for block, warp in enumerate(order):
        box = Box(LEFT + each * block, 106, each, 22)
        sheet.node(box, str(block), fill=COLORS[warp], width=0.7, bold=False)
    sheet.note(MARGIN, 117, "scores, by block,\nin shared memory")


def _meeting(sheet: Sheet) -> None:
    """What all warps do together: the maximum, and weights in place of scores."""
    sheet.node(Box(LEFT, 152, RIGHT - LEFT, 32), "m: the largest score of all warps", fill=LOOK)
    sheet.arrow(((LEFT + RIGHT) / 2, 184), ((LEFT + RIGHT) / 2, 210))
    sheet.node(Box(LEFT, 212, RIGHT - LEFT, 32), "scores become weights", fill=LOOK)


def _tree(sheet: Sheet) -> None:
    """Warps 2 and 3 hand over to 0 and 1, then 1 to 0, which writes."""
    middles = [LEFT + PITCH * warp + WIDE / 2 for warp in range(4)]
    for taker in range(2):
        x = middles[taker]
        sheet.arrow((x, 362), (x, 384))
        level = 368 + 8 * taker
        giver = middles[taker + 2]
        sheet.arrow((giver, 362), (giver, level), (x + 14, level), (x + 14, 384))
        box = Box(x - WIDE / 2, 386, WIDE, 24)
        sheet.node(box, f"{taker} + {taker + 2}", fill=COLORS[taker])
    x = middles[0]
    sheet.node(Box(x - WIDE / 2, 424, WIDE, 24), "output", fill=LOOK)
    sheet.arrow((x, 410), (x, 422))
    sheet.arrow((middles[1], 410), (middles[1], 436), (x + WIDE / 2 + 2, 436))
