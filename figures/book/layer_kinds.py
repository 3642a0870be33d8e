"""Chapter on several kinds of memory: what a layer of each kind keeps of a text."""

from pagesim.figures.book.kit import MARGIN, PANEL, S0, S2, S3, SMALL, Sheet, drawing
from pagesim.figures.style import HELD, Box

TOKENS, WINDOW = 24, 8
LEFT, CELL, TALL, DOWN = 150.0, 15.0, 26.0, 62.0
ROWS = (
    ("full attention", "all tokens", S0),
    (f"window of {WINDOW}", f"the last {WINDOW} tokens", S2),
    ("state", "one state, of all tokens", S3),
)


@drawing("Three kinds of layers remember the same text differently", 266)
def layer_kinds(sheet: Sheet) -> str:
    """24 tokens, and what full attention, a window and a state keep of them."""
    sheet.note(LEFT, 46, f"{TOKENS} tokens of a text, oldest first")
    for row, (name, kept, color) in enumerate(ROWS):
        top = 60 + DOWN * row
        sheet.say(MARGIN, top + 8, name, ha="left", bold=True)
        sheet.note(MARGIN, top + 24, kept)
        if name == "state":
            _state(sheet, top, color)
            continue
        first = 0 if name == "full attention" else TOKENS - WINDOW
        for token in range(TOKENS):
            fill = color if token >= first else PANEL
            box = Box(LEFT + CELL * token, top, CELL, TALL)
            sheet.rectangle(box, fill=fill, width=0.6, dashed=token < first)
        if first:
            low, high = LEFT, LEFT + CELL * first
            sheet.note((low + high) / 2, top + TALL + 12, "not read again", ha="center")
    sheet.foot(
        238,
        "Each token adds a slot to full attention, moves a window on by one, and changes a state, "
        "which does not grow.",
    )
    return (
        f"A text of {TOKENS} tokens, three times. Full attention keeps a slot for each token. A "
        f"window of {WINDOW} tokens keeps the last {WINDOW}; the earlier slots are free. A state "
        "is one block for the whole text, and each token changes it."
    )


def _state(sheet: Sheet, top: float, color: str) -> None:
    """One box, into which all tokens go."""
    wide = 4 * CELL
    box = Box(LEFT + CELL * TOKENS - wide, top, wide, TALL)
    for token in range(TOKENS - 4):
        dot = Box(LEFT + CELL * token + 5, top + TALL / 2 - 2, 5, 4)
        sheet.rectangle(dot, fill=HELD, edge=None)
    sheet.arrow((LEFT + CELL * (TOKENS - 4) - 4, top + TALL / 2), (box.x - 1, top + TALL / 2))
    sheet.node(box, f"after {TOKENS}", fill=color, width=1.6, size=SMALL)
