"""Chapter "Text": from a prompt through pages to a word, and what a damaged page does."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    LOOK,
    MARGIN,
    S0,
    arrow,
    data,
    drawing,
    node,
    note,
    panel,
    slots,
)
from pagesim.figures.style import Box

STATIONS = {
    "prompt": "text",
    "tokens": "numbers",
    "slots": "by the tables",
    "attention": "reads pages",
    "logits": "one a word",
    "next word": "the highest",
}
WIDE = (38.0, 19.0, 38.0, 19.0)
BLOCK, PITCH = sum(WIDE), 123.0
BAD = "#D55E00"


@drawing("From prompt to page to word: one damaged page, and the output goes wrong there", 342)
def word_path(axes: Axes) -> str:
    """The stations of a word, the pages of a way, and two answers."""
    found = data("word_path")
    _stations(axes)
    right, wrong = found["right"].split(), found["wrong"].split()
    what = "the pages that the output needs: each says where a place leads"
    panel(axes, Box(MARGIN, 114, 624, 178), what)
    way = [found["start"], *right[:-2]]
    number = {fact.split()[0]: place for place, fact in enumerate(found["facts"])}
    harmed = found["blocks"][found["facts"].index(found["damaged"])]
    for place, name in enumerate(way):
        x, block = MARGIN + 9 + PITCH * place, found["blocks"][number[name]]
        note(axes, x + BLOCK / 2, 144, f"block {block}", ha="center")
        if block == harmed:
            _crossed_out(axes, x)
        else:
            _page(axes, x, found["facts"][number[name]].split())
        for y, answer, given in (
            (216, right, "all pages"),
            (262, wrong, f"block {harmed} set to zero"),
        ):
            if place == 0:
                note(axes, x, y - 20, f"with {given}:")
            if place < len(answer):
                box, ok = Box(x + 10, y - 11, BLOCK - 20, 24), answer[place] == right[place]
                node(axes, box, answer[place], fill=S0 if ok else BAD)
    note(
        axes,
        MARGIN,
        316,
        f'The page of "{found["damaged"]}" is zero. The words before it is '
        "needed are right;\nthe word that it should give is not: the dot says that the way ends "
        "here.",
    )
    return (
        "A prompt becomes tokens, tokens get slots, attention reads the pages, logits give the "
        f'next word, and the word is the next token. The output "{found["right"]}" needs '
        f"{len(way)} pages, one a word. With block {harmed} set to zero it is "
        f'"{found["wrong"]}": right up to the word for which that page is needed.'
    )


def _stations(axes: Axes) -> None:
    """What becomes of a prompt; its word is the next token."""
    for place, (name, sub) in enumerate(STATIONS.items()):
        x = MARGIN + 106 * place
        node(axes, Box(x, 40, 88, 36), name, sub, fill=LOOK if name == "attention" else style.PAPER)
        if place:
            arrow(axes, (x - 18, 58), (x - 2, 58))
    end, begin = MARGIN + 106 * 5 + 44, MARGIN + 106 + 44
    arrow(axes, (end, 77), (end, 90), (begin, 90), (begin, 78))
    note(axes, (begin + end) / 2, 99, "the word is the next token", ha="center")


def _page(axes: Axes, x: float, words: list[str]) -> None:
    style.rectangle(axes, Box(x, 152, BLOCK, 28), width=1.8)
    for wide, word in zip(WIDE, words, strict=False):
        slots(axes, Box(x, 152, wide, 28), [word], 1, S0, width=0.9)
        x += wide


def _crossed_out(axes: Axes, x: float) -> None:
    _page(axes, x, [])
    for ys in ([152, 180], [180, 152]):
        axes.plot([x, x + BLOCK], ys, color=BAD, linewidth=2.5, clip_on=False)
