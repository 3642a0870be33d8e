"""Chapter 13: decode attention that begins with the token it has in hand."""

from matplotlib.axes import Axes

from pagesim.figures.book.kit import LOOK, MARGIN, S0, arrow, drawing, foot, node, panel
from pagesim.figures.style import PAPER, Box

WIDE, TALL, PITCH = 250.0, 40.0, 54.0


@drawing("Fused: the running numbers begin with the new token, which is never read back", 372)
def fused(axes: Axes) -> str:
    """Two kernels that write and read back, and one that starts with what it has in hand."""
    write, late = ("write k and v of the new token", PAPER), ("write k and v, at any time", PAPER)
    empty = ("m = -∞, l = 0, a = 0", LOOK)
    begin = ("m = q · k_new / √d\nl = 1, a = v_new", LOOK)
    blocks = ("block 0", S0), ("block 1", S0)
    with_it, without = ("block 2, with the new token", S0), ("block 2, as it was", S0)
    columns = {
        "two kernels": (write, empty, *blocks, with_it),
        "fused": (begin, *blocks, without, late),
    }
    for number, (name, steps) in enumerate(columns.items()):
        left = MARGIN + 266 * number
        panel(axes, Box(left, 38, WIDE, 298), name)
        for place, (text, fill) in enumerate(steps):
            y = 64 + PITCH * place
            alone = (text, fill) == late
            node(
                axes, Box(left + 12, y, WIDE - 24, TALL), text, fill=fill, dashed=alone, bold=False
            )
            if place and not alone:
                arrow(axes, (left + WIDE / 2, y - PITCH + TALL), (left + WIDE / 2, y - 1))
    foot(
        axes,
        352,
        "m, l and a are the running numbers of the online softmax. They take the tokens in any "
        "order.",
    )
    return (
        "With two kernels the new key and value are written first, then all blocks are read, the "
        "new token among them. The fused kernel starts the running numbers with the new token, m = "
        "q times k_new over the root of the head size, l = 1, a = v_new, reads the blocks of the "
        "earlier tokens, and may write k and v at any time."
    )
