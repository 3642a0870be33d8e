"""Chapter on prefix caching: the cached blocks are a tree, and a hash is a path in it."""

from matplotlib.axes import Axes

from pagesim.figures.book.kit import (
    MARGIN,
    S0,
    S1,
    S2,
    arrow,
    drawing,
    foot,
    node,
    note,
    say,
    slots,
)
from pagesim.figures.style import HELD, TIMES, Box
from pagesim.story import Story

SIZE = 4
KIND, PIRATE = "You are a kind helper . Reply briefly", "You are a kind pirate . Swear loudly"
PROMPTS = {
    f"{KIND} Who wrote Emma ?": S0,
    f"{KIND} Where is Mars ?": S1,
    f"{PIRATE} Who wrote Emma ?": S2,
}
BLOCK, PITCH, TALL, DOWN = 166.0, 175.0, 30.0, 76.0


@drawing("Prefix caching: prompts share blocks as far as their beginnings are equal", 340)
def hash_tree(axes: Axes) -> str:
    """Three prompts as a tree of blocks, with ids and reference counts."""
    story = Story(gpu_blocks=12, block_size=SIZE, caching=True, record=False)
    writers = []
    for prompt in PROMPTS:
        writers.append(story.arrive(prompt))
        story.batch()
    tables = [writer.block_ids for writer in writers]
    places: dict[int, tuple[float, float]] = {}
    for table in tables:
        for depth, block in enumerate(table):
            below = [i for i, other in enumerate(tables) if block in other]
            places[block] = MARGIN + PITCH * sum(below) / len(below), 58 + DOWN * depth
    seen: set[int] = set()
    for number, (prompt, table) in enumerate(zip(PROMPTS, tables, strict=True)):
        for depth, block in enumerate(table):
            if block in seen:
                continue
            seen.add(block)
            x, y = places[block]
            middle = x + BLOCK / 2
            if depth:
                above, top = places[table[depth - 1]]
                start = above + BLOCK / 2
                arrow(
                    axes,
                    (start, top + TALL),
                    (start, top + TALL + 14),
                    (middle, top + TALL + 14),
                    (middle, y - 2),
                )
            refs = sum(block in other for other in tables)
            words = prompt.split()[SIZE * depth : SIZE * (depth + 1)]
            color = HELD if refs > 1 else PROMPTS[prompt]
            width = 2.6 if refs > 1 else 1.4
            slots(axes, Box(x, y, BLOCK, TALL), words, SIZE, color, width=width)
            say(axes, x, y - 10, f"block {block}", ha="left", bold=True)
            shared = f"{TIMES}{refs} shared" if refs > 1 else f"{TIMES}{refs}"
            note(axes, x + BLOCK, y - 10, shared, ha="right")
        x, y = places[table[-1]]
        name = ", ".join(map(str, table))
        node(axes, Box(x, y + TALL + 12, BLOCK, 24), f"s{number}: {name}", fill=PROMPTS[prompt])
    first, _, third = tables
    foot(
        axes,
        294,
        f"A block's hash is computed from the hash of the block above it and its own {SIZE} "
        f"tokens. Blocks {first[-1]} and {third[-1]} hold the same four words, but not after the "
        "same words: their hashes differ, and so do their keys and values.",
    )
    rows = "; ".join(f"s{i}: {', '.join(map(str, table))}" for i, table in enumerate(tables))
    return (
        f"Three prompts in blocks of {SIZE} words, as a tree. Tables: {rows}. All three share "
        f"block {first[0]}, two of them share block {first[1]}. Blocks {first[-1]} and {third[-1]} "
        "hold the same words, but not after the same words: a hash covers everything before it, "
        "so these are two blocks."
    )
