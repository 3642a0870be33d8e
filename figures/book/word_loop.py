"""Chapter "Text": what a language model adds to the server of chapter 0."""

from matplotlib.axes import Axes

from pagesim.figures.book.kit import LOOK, MARGIN, WIDTH, arrow, drawing, node, note, panel
from pagesim.figures.style import Box

SIDE = 200.0


@drawing("New in this chapter: a model, and words that go around once a step", 306)
def word_loop(axes: Axes) -> str:
    """The two sides of the server, and above them the way of a word."""
    right = WIDTH - MARGIN - SIDE
    places = {
        "prompt": (MARGIN, "text"),
        "tokens": (MARGIN + 106, "numbers"),
        "next word": (right, "the highest"),
        "logits": (right + 106, "one per word"),
    }
    for name, (x, says) in places.items():
        node(axes, Box(x, 40, 94, 40), name, says, fill=LOOK)
    tokens, logits = MARGIN + 153, right + 153
    arrow(axes, (MARGIN + 94, 60), (MARGIN + 104, 60))
    arrow(axes, (right + 106, 60), (right + 96, 60))
    arrow(axes, (right - 1, 60), (MARGIN + 202, 60), width=2)
    note(axes, WIDTH / 2, 78, "is the\nnext token", ha="center")
    panel(axes, Box(MARGIN, 118, SIDE, 156), "Decides, in ids")
    panel(axes, Box(right, 118, SIDE, 156), "Computes, in bytes")
    node(axes, Box(MARGIN + 9, 146, SIDE - 18, 52), "scheduler", "which tokens are next")
    node(axes, Box(MARGIN + 9, 214, SIDE - 18, 52), "block manager", "tables and slots")
    node(
        axes, Box(right + 9, 146, SIDE - 18, 52), "model", "every token, layer by layer", fill=LOOK
    )
    node(axes, Box(right + 9, 214, SIDE - 18, 52), "kernels", "write and read the pages")
    arrow(axes, (tokens, 81), (tokens, 144), width=2)
    arrow(axes, (MARGIN + SIDE / 2, 198), (MARGIN + SIDE / 2, 212))
    arrow(axes, (logits, 144), (logits, 82), width=2)
    for x, ends in ((right + 70, (198, 212)), (right + SIDE - 70, (213, 200))):
        arrow(axes, *((x, y) for y in ends))
    note(axes, right + 64, 205, "q, k, v", ha="right")
    note(axes, right + SIDE - 64, 205, "output")
    arrow(axes, (MARGIN + SIDE + 2, 172), (right - 2, 172), width=2)
    note(axes, WIDTH / 2, 150, "tokens,\npositions", ha="center")
    arrow(axes, (MARGIN + SIDE + 2, 240), (right - 2, 240), width=2)
    note(axes, WIDTH / 2, 226, "tables, slots", ha="center")
    note(axes, MARGIN, 292, "Yellow: new. The rest is as in chapter 0.")
    return (
        "The server of chapter 0, with its two sides: scheduler and block manager decide in ids, "
        "kernels compute in bytes. New are the prompt, its tokens, the model, the logits and the "
        "next word. In every step the scheduler sends tokens and positions to the model, and the "
        "block manager sends tables and slots to the kernels, which write and read pages in every "
        "layer. The model gives logits, the highest one is the next word, and the word is the "
        "next token."
    )
