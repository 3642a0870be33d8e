"""Chapter on prefix caching: the cached blocks are a tree, and a hash is a path in it."""

from collections.abc import Sequence

from pagesim.figures.book.kit import MARGIN, S0, S1, S2, Sheet, drawing, in_blocks
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
def hash_tree(sheet: Sheet) -> str:
    """Three prompts as a tree of blocks, with ids and reference counts."""
    tables = _tables()
    boxes = _boxes(tables)
    drawn: set[int] = set()
    for number, (prompt, table) in enumerate(zip(PROMPTS, tables, strict=True)):
        before: Box | None = None
        for block, words in zip(table, in_blocks(prompt.split(), SIZE), strict=True):
            if block not in drawn:
                if before:
                    _branch(sheet, before, boxes[block])
                refs = sum(block in other for other in tables)
                _block(sheet, boxes[block], block, words, refs, PROMPTS[prompt])
            before = boxes[block]
        drawn.update(table)
        _table(sheet, boxes[table[-1]], number, table, PROMPTS[prompt])
    first, _, third = tables
    sheet.foot(
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


def _tables() -> list[list[int]]:
    """The block tables of the three prompts."""
    story = Story(gpu_blocks=12, block_size=SIZE, caching=True, record=False)
    writers = []
    for prompt in PROMPTS:
        writers.append(story.arrive(prompt))
        story.batch()
    return [writer.block_ids for writer in writers]


def _boxes(tables: list[list[int]]) -> dict[int, Box]:
    """Where the blocks are: each above the middle of the tables that name it."""
    found = {}
    for table in tables:
        for depth, block in enumerate(table):
            below = [i for i, other in enumerate(tables) if block in other]
            x = MARGIN + PITCH * sum(below) / len(below)
            found[block] = Box(x, 58 + DOWN * depth, BLOCK, TALL)
    return found


def _branch(sheet: Sheet, above: Box, box: Box) -> None:
    """An arrow to a block from the one before it."""
    (start, _), (end, _) = above.center, box.center
    leave = above.y + TALL
    sheet.arrow((start, leave), (start, leave + 14), (end, leave + 14), (end, box.y - 2))


def _block(sheet: Sheet, box: Box, block: int, words: Sequence[str], refs: int, own: str) -> None:
    """A block with its words, its id and how many tables name it."""
    shared = refs > 1
    sheet.slots(box, words, SIZE, HELD if shared else own, width=2.6 if shared else 1.4)
    sheet.label(box, block, f"{TIMES}{refs} shared" if shared else f"{TIMES}{refs}")


def _table(sheet: Sheet, last: Box, number: int, table: list[int], color: str) -> None:
    """The name of a sequence and its table, under its last block."""
    text = f"s{number}: {', '.join(map(str, table))}"
    sheet.node(Box(last.x, last.y + TALL + 12, BLOCK, 24), text, fill=color)
