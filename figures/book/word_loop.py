"""Chapter "Text": what a language model adds to the server of chapter 0."""

from pagesim.figures.book.kit import LOOK, MARGIN, WIDTH, Sheet, drawing
from pagesim.figures.style import Box

SIDE = 200.0


@drawing("New in this chapter: a model, and words that go around once a step", 306)
def word_loop(sheet: Sheet) -> str:
    """The two sides of the server, and above them the way of a word."""
    right = WIDTH - MARGIN - SIDE
    _words(sheet, right)
    _parts(sheet, right)
    _ways(sheet, right)
    sheet.note(MARGIN, 292, "Yellow: new. The rest is as in chapter 0.")
    return (
        "The server of chapter 0, with its two sides: scheduler and block manager decide in ids, "
        "kernels compute in bytes. New are the prompt, its tokens, the model, the logits and the "
        "next word. In every step the scheduler sends tokens and positions to the model, and the "
        "block manager sends tables and slots to the kernels, which write and read pages in every "
        "layer. The model gives logits, the highest one is the next word, and the word is the "
        "next token."
    )


def _words(sheet: Sheet, right: float) -> None:
    """What a word is on its way: the next one becomes a token again."""
    places = {
        "prompt": (MARGIN, "text"),
        "tokens": (MARGIN + 106, "numbers"),
        "next word": (right, "the highest"),
        "logits": (right + 106, "one per word"),
    }
    for name, (x, says) in places.items():
        sheet.node(Box(x, 40, 94, 40), name, says, fill=LOOK)
    sheet.arrow((MARGIN + 94, 60), (MARGIN + 104, 60))
    sheet.arrow((right + 106, 60), (right + 96, 60))
    sheet.arrow((right - 1, 60), (MARGIN + 202, 60), width=2)
    sheet.note(WIDTH / 2, 78, "is the\nnext token", ha="center")


def _parts(sheet: Sheet, right: float) -> None:
    """Both sides of the server, with two parts each."""
    sheet.sides(118, SIDE, 156)
    left, wide = MARGIN + 9, SIDE - 18
    sheet.node(Box(left, 146, wide, 52), "scheduler", "which tokens are next")
    sheet.node(Box(left, 214, wide, 52), "block manager", "tables and slots")
    sheet.node(Box(right + 9, 146, wide, 52), "model", "every token, layer by layer", fill=LOOK)
    sheet.node(Box(right + 9, 214, wide, 52), "kernels", "write and read the pages")


def _ways(sheet: Sheet, right: float) -> None:
    """What the words give to the parts, and the parts to each other and to the words."""
    tokens, logits = MARGIN + 153, right + 153
    sheet.arrow((tokens, 81), (tokens, 144), width=2)
    sheet.arrow((MARGIN + SIDE / 2, 198), (MARGIN + SIDE / 2, 212))
    sheet.arrow((logits, 144), (logits, 82), width=2)
    for x, ends in ((right + 70, (198, 212)), (right + SIDE - 70, (213, 200))):
        sheet.arrow(*((x, y) for y in ends))
    sheet.note(right + 64, 205, "q, k, v", ha="right")
    sheet.note(right + SIDE - 64, 205, "output")
    for y, above, text in ((172, 22, "tokens,\npositions"), (240, 14, "tables, slots")):
        sheet.arrow((MARGIN + SIDE + 2, y), (right - 2, y), width=2)
        sheet.note(WIDTH / 2, y - above, text, ha="center")
