"""Chapter "Text": the pages that an output needs, and what a damaged page does."""

import json

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import DATA, MARGIN, S0, arrow, drawing, foot, node, note, say, slots
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
    data = json.loads((DATA / "word_path.json").read_text(encoding="utf-8"))
    right, wrong = data["right"].split(), data["wrong"].split()
    places = {fact.split()[0]: place for place, fact in enumerate(data["facts"])}
    harmed = data["blocks"][data["facts"].index(data["damaged"])]
    asked = [data["start"], *right[:-1]]
    heads = {
        NEWEST + 40: "the newest\nword",
        PAGE + 70: "the page\nthat it needs",
        FIRST + 44: "the next word,\nall pages right",
        SECOND + 44: f"with block {harmed}\nset to zero",
    }
    for x, head in heads.items():
        say(axes, x, 52, head)
    for row, word in enumerate(asked):
        y = 76 + ROW * row
        fact = data["facts"][places[word]]
        block = data["blocks"][places[word]]
        node(axes, Box(NEWEST, y, 80, 26), word, bold=False)
        arrow(axes, (NEWEST + 81, y + 13), (PAGE - 2, y + 13))
        _page(axes, y, [] if block == harmed else fact.split())
        note(axes, PAGE + sum(WIDE) + 6, y + 13, f"block {block}")
        if block == harmed:
            for ends in ((y, y + 26), (y + 26, y)):
                axes.plot([PAGE, PAGE + sum(WIDE)], ends, color=BAD, linewidth=2.5, clip_on=False)
        for x, words in ((FIRST, right), (SECOND, wrong)):
            if row < len(words):
                fill = S0 if words[row] == right[row] else BAD
                node(axes, Box(x, y, 88, 26), words[row], fill=fill)
    foot(
        axes,
        306,
        f'The page of "{data["damaged"]}" is zero. The words before it is needed are right; the '
        "word that it should give is not. A full stop ends the route.",
    )
    return (
        f'The output "{data["right"]}" needs {len(asked)} pages, one for each word, the '
        f"full stop included: those of {', '.join(asked[:-1])} and {asked[-1]}. With block "
        f'{harmed} set to zero the output is "{data["wrong"]}": right up to the word for which '
        "that page is needed."
    )


def _page(axes: Axes, y: float, words: list[str]) -> None:
    x = PAGE
    for wide, word in zip(WIDE, words, strict=False):
        slots(axes, Box(x, y, wide, 26), [word], 1, S0, width=0.6)
        x += wide
    style.rectangle(axes, Box(PAGE, y, sum(WIDE), 26), fill=None, width=1.6)
