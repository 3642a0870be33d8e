"""Chapter 3: decode attention that begins with the token it has in hand."""

from matplotlib.axes import Axes

from pagesim.figures.book.kit import LOOK, MARGIN, S0, arrow, drawing, node, note, panel
from pagesim.figures.style import PAPER, Box


@drawing("Fused: the running numbers begin with the new token, which is never read back", 250)
def fused(axes: Axes) -> str:
    """Two kernels that write and read back, and one that starts with what it has in hand."""
    write, empty = ("write k, v", PAPER), ("m = -∞\nl = 0\na = 0", LOOK)
    begin, late = (
        ("m = q·k_new / √d\nl = 1\na = v_new", LOOK),
        ("write k, v\n(at any time)", PAPER),
    )
    pages = ("page 0", S0), ("page 1", S0)
    with_it, without = ("page 2, with\nthe new token", S0), ("page 2, without\nthe new token", S0)
    rows = {
        "two kernels": (write, empty, *pages, with_it),
        "fused": (begin, *pages, without, late),
    }
    for number, (name, steps) in enumerate(rows.items()):
        top = 40 + 98 * number
        panel(axes, Box(MARGIN, top, 624, 88), name)
        for place, (text, fill) in enumerate(steps):
            box = Box(MARGIN + 14 + 121 * place, top + 28, 104, 48)
            alone = (text, fill) == late
            node(axes, box, text, fill=fill, dashed=alone, bold=False)
            if place and not alone:
                arrow(axes, (box.x - 16, top + 52), (box.x - 1, top + 52))
    note(
        axes,
        MARGIN,
        238,
        "m, l and a are the running numbers of the online softmax; they take "
        "the tokens in any order.",
    )
    return (
        "With two kernels the new key and value are written first, then all pages are read, the "
        "new token among them. The fused kernel starts the running numbers with the new token, m = "
        "q times k_new over the root of the head size, l = 1, a = v_new, walks the pages of the "
        "earlier tokens, and may write k and v at any time."
    )
