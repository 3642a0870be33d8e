"""Chapter 0: what one decode step reads from the cache, and what it adds."""

from pagesim.figures.book.kit import LOOK, MARGIN, S0, SMALL, Sheet, drawing
from pagesim.figures.style import MUTED, PAPER, Box
from pagesim.story import Story

PROMPT, ANSWER = "Alice was beginning to get", "very tired"
LEFT, COLUMN, HALF = 92.0, 53.0, 20.0
ROWS = {"layer 1": 110.0, "layer 2": 186.0, "last layer": 284.0}


@drawing("One decode step: the new token reads every earlier token, and adds itself", 388)
def decode_step(sheet: Sheet) -> str:
    """A token on its way through the layers, and the cache of each."""
    story = Story(gpu_blocks=12, record=False)
    writer = story.arrive(PROMPT)
    new, following = ANSWER.split()
    writer.write(new)
    words = [story.words[token] for token in writer.token_ids]
    middle = LEFT + COLUMN * len(words) + 32
    _heads(sheet, words)
    sheet.node(Box(middle - 31, 38, 62, 26), new, fill=LOOK)
    sheet.note(middle + 36, 51, "the new\ntoken")
    above = 64.0
    for name, top in ROWS.items():
        _layer(sheet, name, top, len(words), middle)
        gap = top - 22 - above > 30
        sheet.arrow((middle, above), (middle, top - 21), dashed=gap)
        above = top + 2 * HALF
    sheet.say(LEFT + COLUMN * 3, 252, "\N{VERTICAL ELLIPSIS}", size=14, color=MUTED)
    sheet.node(Box(middle - 31, 350, 62, 26), following)
    sheet.arrow((middle, above), (middle, 349))
    sheet.note(middle - 38, 363, "the next word", ha="right")
    sheet.note(MARGIN, 363, "q: query, k: key, v: value,\nof one token in one layer")
    return (
        f'The new token "{new}" passes through the layers from top to bottom. In each layer its '
        f"own key and value are stored behind those of the {len(words) - 1} earlier tokens, where "
        "the next steps will read them, and its query q reads them all. After the last layer the "
        f'next word, "{following}", is chosen.'
    )


def _heads(sheet: Sheet, words: list[str]) -> None:
    """The words over their columns; the last one is new."""
    edge = LEFT + COLUMN * (len(words) - 1)
    sheet.bracket(LEFT, edge - 4, 66, "in the cache, from earlier steps")
    for place, word in enumerate(words):
        fresh = place == len(words) - 1
        sheet.say(LEFT + COLUMN * (place + 0.5) - 2, 80, word, size=SMALL, bold=fresh)


def _layer(sheet: Sheet, name: str, top: float, count: int, middle: float) -> None:
    """The cache of a layer, the new token's q, k and v, and the ways between them."""
    sheet.say(LEFT - 10, top + HALF, name, ha="right", bold=True)
    for place in range(count):
        fresh = place == count - 1
        fill = LOOK if fresh else S0
        x = LEFT + COLUMN * place
        for row, letter in enumerate("kv"):
            half = Box(x, top + HALF * row, COLUMN - 4, HALF)
            sheet.node(half, letter, fill=fill, width=0.6, bold=False)
        whole = Box(x, top, COLUMN - 4, 2 * HALF)
        sheet.rectangle(whole, fill=None, width=2.4 if fresh else 1)
        center = x + (COLUMN - 4) / 2
        sheet.arrow((center, top), (center, top - 11), head=False)
    sheet.arrow((LEFT + (COLUMN - 4) / 2, top - 11), (middle - 14, top - 11))
    sheet.rectangle(Box(middle - 13, top - 20, 26, 2 * HALF + 20), fill=PAPER, width=1)
    for row, letter in enumerate("qkv"):
        sheet.say(middle, top - 10 + HALF * row, letter, bold=True)
    right = LEFT + COLUMN * count - 4
    for row in range(2):
        y = top + HALF * (row + 0.5)
        sheet.arrow((middle - 13, y), (right + 2, y))
    sheet.note(middle + 19, top - 10, "reads all")
    sheet.note(middle + 19, top + HALF, "are\nstored")
