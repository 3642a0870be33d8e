"""Chapter on the CUDA kernel: one thread block, from the query to the answer."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    COLORS,
    LOOK,
    MARGIN,
    arrow,
    data,
    drawing,
    node,
    note,
    panel,
    say,
)
from pagesim.figures.style import Box

TOP, ROW = 108.0, 44.0
COLUMNS = {  # left and width, and how it is done
    "1. q · k": (MARGIN, 112, "a warp takes\nevery 4th block"),
    "2. maximum": (152, 86, "shuffles, then\nshared memory"),
    "3. e^(s - m)": (266, 86, "all threads,\nthen / sum"),
    "4. logits · V": (380, 112, "a lane has some\nrows of V"),
    "5. sums": (520, 116, "shuffles, then\na tree of warps"),
}


@drawing("The CUDA kernel: four warps share the blocks twice, and meet in between", 352)
def cuda_stages(axes: Axes) -> str:
    """Five stages as columns, a warp a row."""
    found = data("thread_map")
    warps, order = found["config"]["num_warps"], found["warp_of_block"]
    for title, (left, wide, _) in COLUMNS.items():
        panel(axes, Box(left, 38, wide, 248), title)
    for warp in range(warps):
        _row(axes, warp, [block for block, its in enumerate(order) if its == warp])
    _meeting(axes, warps)
    _tree(axes)
    for left, wide, how in COLUMNS.values():
        note(axes, left + wide / 2, 70, how, ha="center")
    _logits(axes, order)
    return (
        f"One thread block has {warps} warps. 1: each warp takes every fourth block, multiplies q "
        "with its keys, and writes the logits to shared memory. 2: the maximum, first within each "
        "warp, then over the warps. 3: all threads turn the logits into exponentials and divide by "
        "their sum. 4: each warp takes the same blocks again, and multiplies the weights with the "
        "values. 5: the lanes' sums are added in each warp, the warps' in a tree, and warp 0 "
        "writes."
    )


def _row(axes: Axes, warp: int, blocks: list[int]) -> None:
    """What one warp does alone: its blocks twice, its maximum and its sums."""
    y, color = TOP + ROW * warp, COLORS[warp]
    text = ", ".join(map(str, blocks))
    for name in ("1. q · k", "4. logits · V"):
        left, *_ = COLUMNS[name]
        node(axes, Box(left + 8, y - 17, 96, 34), f"warp {warp}", f"blocks {text}", fill=color)
    node(axes, Box(164, y - 12, 62, 24), f"m{warp}", fill=color)
    arrow(axes, (118, y), (162, y))
    arrow(axes, (486, y), (524, y))
    node(axes, Box(526, y - 12, 26, 24), f"a{warp}", fill=color, size=9)


def _meeting(axes: Axes, warps: int) -> None:
    """Where all warps meet: the maximum and the sum of all."""
    middle = TOP + ROW * 1.5
    ys = [TOP + ROW * warp for warp in range(warps)]
    for y in ys:
        arrow(axes, (226, y), (246, y), (246, middle), (262, middle), head=False)
    arrow(axes, (246, middle), (274, middle))
    node(axes, Box(276, middle - 17, 66, 34), "m, sum", "of all", fill=LOOK)
    for y in ys:
        arrow(axes, (342, middle), (362, middle), (362, y), (386, y))


def _tree(axes: Axes) -> None:
    """Warps 2 and 3 hand over to 0 and 1, then 1 to 0, which writes."""
    ys = [TOP + ROW * warp for warp in range(4)]
    for giver, y in enumerate(ys):
        taker = giver % 2
        arrow(axes, (552, y), (565, ys[taker] + 3 * (giver - taker)))
    for taker in range(2):
        node(
            axes,
            Box(566, ys[taker] - 12, 26, 24),
            f"{taker}+{taker + 2}",
            fill=COLORS[taker],
            size=9,
            bold=False,
        )
        arrow(axes, (592, ys[taker]), (604, ys[0] + 9 * taker))
    node(axes, Box(605, ys[0] - 17, 28, 34), "out", fill=LOOK)


def _logits(axes: Axes, order: list[int]) -> None:
    """Shared memory: a stretch for each block, in the colour of its warp."""
    each = 440 / len(order)
    for block, warp in enumerate(order):
        box = Box(MARGIN + 150 + each * block, 300, each, 20)
        style.rectangle(axes, box, fill=COLORS[warp], width=0.7)
        say(axes, *box.center, f"{block}", size=9, color=style.ink_on(COLORS[warp]))
    say(axes, MARGIN, 310, "logits in shared memory", ha="left", bold=True)
    note(
        axes,
        MARGIN + 150,
        334,
        "one number a token, block after block: 1 writes them, 2 and 3 "
        "make weights of them, 4 reads them",
    )
