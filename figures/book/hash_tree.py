"""Chapter on prefix caching: the cached blocks are a tree, and a hash is a path in it."""

from itertools import chain
from statistics import fmean

from matplotlib.axes import Axes

from pagesim.figures.book.kit import MARGIN, S0, S1, S2, arrow, drawing, node, note, say, slots
from pagesim.figures.style import HELD, TIMES, Box
from pagesim.story import Story

SIZE = 4
KIND, PIRATE = "You are a kind helper . Answer briefly", "You are a kind pirate . Swear loudly"
PROMPTS = {
    f"{KIND} Who wrote Emma ?": S0,
    f"{KIND} Where is Mars ?": S1,
    f"{PIRATE} Who wrote Emma ?": S2,
}
BLOCK, PITCH, LEAVES = 164.0, 198.0, (88.0, 152.0, 236.0)
LEFT = MARGIN + 26


@drawing("Prefix caching: prompts share blocks as far as their beginnings are equal", 320)
def hash_tree(axes: Axes) -> str:
    """Three prompts as a tree of blocks, with ids and reference counts."""
    tables = _tables()
    for depth in range(3):
        before = "nothing" if not depth else f"h{depth - 1}"
        text = f"h{depth} = hash({before}, its 4 tokens)"
        note(axes, LEFT + PITCH * depth + BLOCK / 2, 52, text, ha="center")
    heights = {
        block: fmean(leaf for leaf, table in zip(LEAVES, tables, strict=True) if block in table)
        for block in dict.fromkeys(chain(*tables))
    }
    drawn: set[int] = set()
    for number, (prompt, table) in enumerate(zip(PROMPTS, tables, strict=True)):
        for depth, block in enumerate(table):
            x, y = LEFT + PITCH * depth, heights[block]
            if depth:
                _branch(axes, x, heights[table[depth - 1]], y)
            if block not in drawn:
                words = prompt.split()[SIZE * depth : SIZE * (depth + 1)]
                refs = sum(block in other for other in tables)
                _block(axes, Box(x, y, BLOCK, 28), block, words, refs, PROMPTS[prompt])
        drawn |= {*table}
        end = Box(LEFT + 2 * PITCH + BLOCK + 6, heights[table[-1]] + 4, 28, 20)
        node(axes, end, f"r{number}", fill=PROMPTS[prompt])
    first, _, third = tables
    note(
        axes,
        MARGIN,
        290,
        f"{TIMES}2: two tables name this block. Blocks {first[-1]} and {third[-1]} hold "
        "the same four words,\nbut not behind the same words: their hashes differ, and so do "
        "their keys and values.",
    )
    rows = "; ".join(f"r{i}: {', '.join(map(str, table))}" for i, table in enumerate(tables))
    return (
        f"Three prompts in blocks of {SIZE} words, as a tree. Tables: {rows}. All three share "
        f"block {first[0]}, two of them share block {first[1]}. Blocks {first[-1]} and {third[-1]} "
        "hold the same words, but not behind the same words: a hash covers everything before it, "
        "so these are two blocks."
    )


def _tables() -> list[list[int]]:
    """The block tables of the three prompts."""
    story = Story(gpu_blocks=12, block_size=SIZE, caching=True, record=False)
    writers = []
    for prompt in PROMPTS:
        writers.append(story.arrive(prompt))
        story.batch()
    return [writer.block_ids for writer in writers]


def _branch(axes: Axes, x: float, parent: float, y: float) -> None:
    """An arrow to the block at ``x``, from the one before it."""
    corner, high, low = x - 26, parent + 14, y + 14
    arrow(axes, (x - PITCH + BLOCK, high), (corner, high), (corner, low), (x - 14, low))


def _block(axes: Axes, box: Box, block: int, words: list[str], refs: int, own: str) -> None:
    """A block with its words, its id and how many tables name it."""
    shared = refs > 1
    slots(axes, box, words, SIZE, HELD if shared else own, width=2.6 if shared else 1.4)
    say(axes, box.x - 5, box.y + 14, str(block), size=9, ha="right", bold=True)
    note(axes, box.x + box.w, box.y - 9, f"{TIMES}{refs}", ha="right")
