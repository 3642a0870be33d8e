"""Chapter on prefix caching: the cached blocks are a tree, and a hash is a path in it."""

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


@drawing("Prefix caching: prompts share blocks as far as their beginnings are equal", 320)
def hash_tree(axes: Axes) -> str:
    """Three prompts as a tree of blocks, with ids and reference counts."""
    story = Story(gpu_blocks=12, block_size=SIZE, caching=True, record=False)
    writers = []
    for prompt in PROMPTS:
        writers.append(story.arrive(prompt))
        story.batch()
    tables = [writer.block_ids for writer in writers]
    places: dict[int, tuple[int, float]] = {}
    for table in tables:
        for depth, block in enumerate(table):
            ys = [LEAVES[i] for i, other in enumerate(tables) if block in other]
            places[block] = depth, sum(ys) / len(ys)
    for depth in range(3):
        before = "nothing" if not depth else f"h{depth - 1}"
        x = MARGIN + 26 + PITCH * depth
        note(axes, x + BLOCK / 2, 52, f"h{depth} = hash({before}, its 4 tokens)", ha="center")
    for number, (prompt, table) in enumerate(zip(PROMPTS, tables, strict=True)):
        for depth, block in enumerate(table):
            refs = sum(block in other for other in tables)
            x, y = MARGIN + 26 + PITCH * depth, places[block][1]
            words = prompt.split()[SIZE * depth : SIZE * (depth + 1)]
            if depth:
                end = x - BLOCK - 4 - (PITCH - BLOCK) + 4
                last = places[table[depth - 1]][1] + 14
                arrow(axes, (end + BLOCK, last), (x - 26, last), (x - 26, y + 14), (x - 14, y + 14))
            if block in [b for other in tables[:number] for b in other]:
                continue
            color = HELD if refs > 1 else PROMPTS[prompt]
            slots(axes, Box(x, y, BLOCK, 28), words, SIZE, color, width=2.6 if refs > 1 else 1.4)
            say(axes, x - 5, y + 14, str(block), size=9, ha="right", bold=True)
            note(axes, x + BLOCK, y - 9, f"{TIMES}{refs}", ha="right")
        y = places[table[-1]][1]
        node(
            axes,
            Box(MARGIN + 26 + 2 * PITCH + BLOCK + 6, y + 4, 28, 20),
            f"r{number}",
            fill=PROMPTS[prompt],
        )
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
