"""Chapter 0: what one decode step reads from the cache, and what it adds."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import MARGIN, S0, arrow, bracket, drawing, node, note, say
from pagesim.figures.style import MUTED, PAPER, Box
from pagesim.story import Story

PROMPT, ANSWER = "Alice was beginning to get very tired", "of sitting"
LEFT, COLUMN, HALF = 70.0, 53.0, 19.0
ROWS = {"layer 1": 106.0, "layer 2": 180.0, "last layer": 274.0}


@drawing("One decode step: the new token reads every earlier token, and adds itself", 372)
def decode_step(axes: Axes) -> str:
    """A token on its way through the layers, and the cache of each."""
    story = Story(gpu_blocks=12, record=False)
    writer = story.arrive(PROMPT)
    new, following = ANSWER.split()
    writer.write(new)
    words = [story.words[token] for token in writer.token_ids]
    edge = LEFT + COLUMN * (len(words) - 1)
    middle = edge + COLUMN + 56
    bracket(axes, LEFT, edge - 4, 68, "keys and values that earlier steps left in the cache")
    for place, word in enumerate(words):
        fresh = place == len(words) - 1
        say(axes, LEFT + COLUMN * (place + 0.5), 78, word, size=9, bold=fresh)
    node(axes, Box(middle - 30, 38, 60, 24), new, fill=S0)
    note(axes, middle + 36, 50, "the new\ntoken")
    above = 62.0
    for name, top in ROWS.items():
        _layer(axes, name, top, len(words), middle)
        gap = top - 22 - above > 30
        arrow(axes, (middle, above), (middle, top - 20), dashed=gap)
        above = top + 2 * HALF
    note(axes, MARGIN, 348, "q: query, k: key, v: value, of one token in one layer")
    say(axes, LEFT + COLUMN * 4, 245, "\N{VERTICAL ELLIPSIS}", size=14, color=MUTED)
    node(axes, Box(middle - 30, 336, 60, 24), following)
    arrow(axes, (middle, above), (middle, 335))
    note(axes, middle - 38, 348, "the next word", ha="right")
    return (
        f'The new token "{new}" passes through the layers from top to bottom. In each layer its '
        f"query q reads the stored keys and values of the {len(words) - 1} earlier tokens, and its "
        f"own key and value are stored behind them, where the next steps will read them. After the "
        f'last layer the next word, "{following}", is chosen.'
    )


def _layer(axes: Axes, name: str, top: float, count: int, middle: float) -> None:
    say(axes, LEFT - 8, top + HALF, name, ha="right", bold=True)
    for place in range(count):
        fresh = place == count - 1
        x = LEFT + COLUMN * place
        for row, letter in enumerate("kv"):
            half = Box(x, top + HALF * row, COLUMN - 4, HALF)
            style.rectangle(axes, half, fill=S0, width=0.6)
            say(axes, *half.center, letter, size=9, color=style.ink_on(S0))
        whole = Box(x, top, COLUMN - 4, 2 * HALF)
        style.rectangle(axes, whole, fill=None, width=2.4 if fresh else 1)
        center = x + (COLUMN - 4) / 2
        arrow(axes, (center, top), (center, top - 10), head=False)
    arrow(axes, (LEFT + (COLUMN - 4) / 2, top - 10), (middle - 13, top - 10))
    style.rectangle(axes, Box(middle - 12, top - 19, 24, 2 * HALF + 19), fill=PAPER, width=1)
    for row, letter in enumerate("qkv"):
        say(axes, middle, top - 9.5 + HALF * row, letter, bold=True)
    right = LEFT + COLUMN * count - 4
    for row in range(2):
        y = top + HALF * (row + 0.5)
        arrow(axes, (middle - 12, y), (right + 1, y))
    note(axes, middle + 18, top - 9, "reads all")
    note(axes, middle + 18, top + HALF, "are added")
