"""Chapter "Text": the pages that an output needs, and what a damaged page does."""

from pagesim.figures.book.kit import MARGIN, S0, Sheet, data, drawing, listed
from pagesim.figures.style import Box

ROW = 36.0
WIDE = 48.0, 22.0, 48.0, 22.0
"""The slots of a page: two words, and two signs."""
NEWEST, PAGE, FIRST, SECOND = MARGIN, 128.0, 336.0, 440.0
"""Where the columns begin: the newest word, its page, and the next word in two runs."""
BAD = "#D55E00"


@drawing("One damaged page: the output goes wrong at the word that needs it", 338)
def word_path(sheet: Sheet) -> str:
    """A page for each word of an output, and the words that come out with and without one."""
    found = data("word_path")
    right, wrong = found["right"].split(), found["wrong"].split()
    pages = {fact.split()[0]: fact.split() for fact in found["facts"]}
    blocks = dict(zip(pages, found["blocks"], strict=True))
    harmed = blocks[found["damaged"].split()[0]]
    asked = [found["start"], *right[:-1]]
    _heads(sheet, harmed)
    for row, word in enumerate(asked):
        y, block = 76 + ROW * row, blocks[word]
        sheet.node(Box(NEWEST, y, 80, 26), word, bold=False)
        sheet.arrow((NEWEST + 81, y + 13), (PAGE - 2, y + 13))
        _page(sheet, y, [] if block == harmed else pages[word])
        sheet.note(PAGE + sum(WIDE) + 6, y + 13, f"block {block}")
        if block == harmed:
            _crossed_out(sheet, y)
        for x, words in ((FIRST, right), (SECOND, wrong)):
            if row < len(words):
                fill = S0 if words[row] == right[row] else BAD
                sheet.node(Box(x, y, 88, 26), words[row], fill=fill)
    sheet.foot(
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


def _heads(sheet: Sheet, harmed: int) -> None:
    """What the columns are."""
    heads = {
        NEWEST + 40: "the newest\nword",
        PAGE + 70: "the page\nthat it needs",
        FIRST + 44: "the next word,\nall pages right",
        SECOND + 44: f"with block {harmed}\nset to zero",
    }
    for x, head in heads.items():
        sheet.say(x, 52, head)


def _page(sheet: Sheet, y: float, words: list[str]) -> None:
    """A page with its words, or empty."""
    x = PAGE
    for wide, word in zip(WIDE, words, strict=False):
        sheet.slots(Box(x, y, wide, 26), [word], 1, S0, width=0.6)
        x += wide
    sheet.rectangle(Box(PAGE, y, sum(WIDE), 26), fill=None, width=1.6)


def _crossed_out(sheet: Sheet, y: float) -> None:
    """Two strokes through the damaged page."""
    for ends in ((y, y + 26), (y + 26, y)):
        sheet.line((PAGE, PAGE + sum(WIDE)), ends, color=BAD, width=2.5)
