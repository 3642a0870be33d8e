"""Chapter "Text": the pages that an output needs, and what a damaged page does."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    MARGIN,
    S0,
    arrow,
    data,
    drawing,
    foot,
    listed,
    node,
    note,
    say,
    slots,
)
from pagesim.figures.page import line
from pagesim.figures.style import Box

ROW = 36.0
WIDE = 48.0, 22.0, 48.0, 22.0
"""The slots of a page: two words, and two signs."""
NEWEST, PAGE, FIRST, SECOND = MARGIN, 128.0, 336.0, 440.0
"""Where the columns begin: the newest word, its page, and the next word in two runs."""
BAD = "#D55E00"


@drawing("One damaged page: the output goes wrong at the word that needs it", 338)
def word_path(axes: Axes) -> str:
    """A page for each word of an output, and the words that come out with and without one."""
    found = data("word_path")
    right, wrong = found["right"].split(), found["wrong"].split()
    pages = {fact.split()[0]: fact.split() for fact in found["facts"]}
    blocks = dict(zip(pages, found["blocks"], strict=True))
    harmed = blocks[found["damaged"].split()[0]]
    asked = [found["start"], *right[:-1]]
    _heads(axes, harmed)
    for row, word in enumerate(asked):
        y, block = 76 + ROW * row, blocks[word]
        node(axes, Box(NEWEST, y, 80, 26), word, bold=False)
        arrow(axes, (NEWEST + 81, y + 13), (PAGE - 2, y + 13))
        _page(axes, y, [] if block == harmed else pages[word])
        note(axes, PAGE + sum(WIDE) + 6, y + 13, f"block {block}")
        if block == harmed:
            _crossed_out(axes, y)
        for x, words in ((FIRST, right), (SECOND, wrong)):
            if row < len(words):
                fill = S0 if words[row] == right[row] else BAD
                node(axes, Box(x, y, 88, 26), words[row], fill=fill)
    foot(
        axes,
        306,
        f'The page of "{found["damaged"]}" is zero. The words before it is needed are right; the '
        "word that it should give is not. A full stop ends the route.",
    )
    return (
        f'The output "{found["right"]}" needs {len(asked)} pages, one for each word, the '
        f"full stop included: those of {listed(asked)}. With block "
        f'{harmed} set to zero the output is "{found["wrong"]}": right up to the word for which '
        "that page is needed."
    )


def _heads(axes: Axes, harmed: int) -> None:
    """What the columns are."""
    heads = {
        NEWEST + 40: "the newest\nword",
        PAGE + 70: "the page\nthat it needs",
        FIRST + 44: "the next word,\nall pages right",
        SECOND + 44: f"with block {harmed}\nset to zero",
    }
    for x, head in heads.items():
        say(axes, x, 52, head)


def _page(axes: Axes, y: float, words: list[str]) -> None:
    """A page with its words, or empty."""
    x = PAGE
    for wide, word in zip(WIDE, words, strict=False):
        slots(axes, Box(x, y, wide, 26), [word], 1, S0, width=0.6)
        x += wide
    style.rectangle(axes, Box(PAGE, y, sum(WIDE), 26), fill=None, width=1.6)


def _crossed_out(axes: Axes, y: float) -> None:
    """Two strokes through the damaged page."""
    for ends in ((y, y + 26), (y + 26, y)):
        line(axes, (PAGE, PAGE + sum(WIDE)), ends, color=BAD, width=2.5)
