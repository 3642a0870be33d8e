"""Chapter on growing and sharing: a fork shares its blocks until one of the two writes."""

from matplotlib.axes import Axes

from pagesim.figures.book.kit import (
    INNER,
    LOOK,
    MARGIN,
    S1,
    S2,
    arrow,
    drawing,
    node,
    note,
    panel,
    say,
    slots,
)
from pagesim.figures.style import HELD, TIMES, Box
from pagesim.story import Story

SIZE = 4
PROMPT, FIRST, SECOND = "Four score and seven years ago our", "fathers", "mothers"
BLOCK, FIRST_AT, LAST_AT = 188.0, 118.0, 334.0
COLORS = {"s1": S1, "s2": S2}


@drawing("A fork copies nothing, until one of the two writes into a shared block", 354)
def fork_tree(axes: Axes) -> str:
    """Before and after the first write: two tables as a tree of blocks."""
    story = Story(gpu_blocks=9, block_size=SIZE, record=False)
    fillers = [story.arrive([100 + i]) for i in range(9)]
    for block in (8, 6, 5, 4, 2, 0, 3, 1, 7):
        fillers[block].leave()
    one = story.arrive(PROMPT)
    other = one.fork()
    words = PROMPT.split()
    full, partial = one.block_ids
    panel(axes, Box(MARGIN, 38, INNER, 106), "1. after the fork: both tables name the same blocks")
    _tables(axes, 92, {"s1": one.block_ids, "s2": other.block_ids})
    _block(axes, FIRST_AT, 92, full, words[:SIZE], 2)
    _block(axes, LAST_AT, 92, partial, words[SIZE:], 2)
    arrow(axes, (FIRST_AT + BLOCK, 107), (LAST_AT - 2, 107))
    [(source, target)] = one.write(FIRST)
    other.write(SECOND)
    panel(axes, Box(MARGIN, 156, INNER, 186), "2. both have written: a last block for each")
    _tables(axes, 246, {"s1": one.block_ids, "s2": other.block_ids})
    _block(axes, FIRST_AT, 246, full, words[:SIZE], 2)
    for y, name, writer, word in ((198, "s1", one, FIRST), (296, "s2", other, SECOND)):
        last = writer.block_ids[-1]
        said = "the copy" if last == target else "the original"
        _block(axes, LAST_AT, y, last, [*words[SIZE:], word], 1, COLORS[name], said)
        turn = (FIRST_AT + BLOCK + LAST_AT) / 2 - 3
        arrow(axes, (FIRST_AT + BLOCK, 261), (turn, 261), (turn, y + 15), (LAST_AT - 2, y + 15))
    down = LAST_AT + 20
    arrow(axes, (down, 276), (down, 230), dashed=True)
    note(axes, down + 8, 254, f"{source} is copied to {target}\nbefore s1 writes")
    return (
        f'The prompt "{PROMPT}" lies in blocks {full} and {partial}. After the fork both tables '
        f"name both, and nothing is copied. Then s1 writes {FIRST} into the last block, which is "
        f"shared: it is copied to block {target} first, and s1 goes on there. s2 writes {SECOND} "
        f"into block {source}, now its own. Block {full} stays shared."
    )


def _tables(axes: Axes, y: float, tables: dict[str, list[int]]) -> None:
    """Two tables, one under the other, and the way from both to the first block."""
    for place, (name, ids) in enumerate(tables.items()):
        top = y - 14 + 32 * place
        node(axes, Box(MARGIN + 9, top, 70, 26), f"{name}: {ids[0]}, {ids[1]}", fill=COLORS[name])
        arrow(axes, (MARGIN + 79, top + 13), (104, top + 13), (104, y + 15), head=False)
    arrow(axes, (104, y + 15), (FIRST_AT - 2, y + 15))


def _block(
    axes: Axes,
    x: float,
    y: float,
    number: int,
    words: list[str],
    refs: int,
    own: str | None = None,
    said: str = "",
) -> None:
    boxes = slots(
        axes,
        Box(x, y, BLOCK, 30),
        [*words[:-1], ""] if own else words,
        SIZE,
        own or HELD,
        width=2.6 if refs > 1 else 1.4,
    )
    if own:
        slots(axes, boxes[len(words) - 1], [words[-1]], 1, LOOK, width=1.2)
    say(axes, x, y - 10, f"block {number}", ha="left", bold=True)
    note(axes, x + BLOCK, y - 10, said or f"{TIMES}{refs} shared", ha="right")
