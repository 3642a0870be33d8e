"""Chapter 13: decode attention that begins with the token it has in hand."""

from pagesim.figures.book.kit import LOOK, MARGIN, S0, Sheet, drawing
from pagesim.figures.style import PAPER, Box

Step = tuple[str, str]
EARLY: Step = "write k and v of the new token", PAPER
LATE: Step = "write k and v, at any time", PAPER
EMPTY: Step = "m = -∞, l = 0, a = 0", LOOK
BEGUN: Step = "m = q · k_new / √d\nl = 1, a = v_new", LOOK
BLOCKS: tuple[Step, ...] = ("block 0", S0), ("block 1", S0)
WITH_IT, WITHOUT = ("block 2, with the new token", S0), ("block 2, as it was", S0)
COLUMNS = {
    "two kernels": (EARLY, EMPTY, *BLOCKS, WITH_IT),
    "fused": (BEGUN, *BLOCKS, WITHOUT, LATE),
}
"""What each does, in order: a text and its colour."""
WIDE, TALL, PITCH = 250.0, 40.0, 54.0


@drawing("Fused: the running numbers begin with the new token, which is never read back", 372)
def fused(sheet: Sheet) -> str:
    """Two kernels that write and read back, and one that starts with what it has in hand."""
    for number, (name, steps) in enumerate(COLUMNS.items()):
        _column(sheet, MARGIN + 266 * number, name, steps)
    sheet.foot(
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


def _column(sheet: Sheet, left: float, name: str, steps: tuple[Step, ...]) -> None:
    """Steps under each other; the one that may come at any time stands alone."""
    sheet.panel(Box(left, 38, WIDE, 298), name)
    middle = left + WIDE / 2
    for place, (text, fill) in enumerate(steps):
        y = 64 + PITCH * place
        alone = (text, fill) == LATE
        box = Box(left + 12, y, WIDE - 24, TALL)
        sheet.node(box, text, fill=fill, dashed=alone, bold=False)
        if place and not alone:
            sheet.arrow((middle, y - PITCH + TALL), (middle, y - 1))
