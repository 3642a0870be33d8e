"""Chapter on growing and sharing: a fork shares its blocks until one of the two writes."""

from collections.abc import Sequence

from pagesim.figures.book.kit import INNER, LOOK, MARGIN, S1, S2, Sheet, drawing, in_blocks
from pagesim.figures.style import HELD, TIMES, Box
from pagesim.story import Story, Writer

SIZE = 4
PROMPT, FIRST, SECOND = "Four score and seven years ago our", "fathers", "mothers"
WORDS = in_blocks(PROMPT.split(), SIZE)
BLOCK, FIRST_AT, LAST_AT = 188.0, 118.0, 334.0
COLORS = {"s1": S1, "s2": S2}


@drawing("A fork copies nothing, until one of the two writes into a shared block", 354)
def fork_tree(sheet: Sheet) -> str:
    """Before and after the first write: two tables as a tree of blocks."""
    one = _writer()
    other = one.fork()
    full, partial = one.block_ids
    _forked(sheet, {"s1": one, "s2": other})
    [(source, target)] = one.write(FIRST)
    other.write(SECOND)
    _written(sheet, {"s1": one, "s2": other}, target)
    down = LAST_AT + 20
    sheet.arrow((down, 276), (down, 230), dashed=True)
    sheet.note(down + 8, 254, f"{source} is copied to {target}\nbefore s1 writes")
    return (
        f'The prompt "{PROMPT}" lies in blocks {full} and {partial}. After the fork both tables '
        f"name both, and nothing is copied. Then s1 writes {FIRST} into the last block, which is "
        f"shared: it is copied to block {target} first, and s1 goes on there. s2 writes {SECOND} "
        f"into block {source}, now its own. Block {full} stays shared."
    )


def _writer() -> Writer:
    """The sequence that is forked; its blocks are scattered."""
    story = Story(gpu_blocks=9, block_size=SIZE, record=False)
    fillers = [story.arrive([100 + i]) for i in range(9)]
    for block in (8, 6, 5, 4, 2, 0, 3, 1, 7):
        fillers[block].leave()
    return story.arrive(PROMPT)


def _forked(sheet: Sheet, writers: dict[str, Writer]) -> None:
    """Both tables name the same blocks."""
    sheet.panel(Box(MARGIN, 38, INNER, 106), "1. after the fork: both tables name the same blocks")
    _tables(sheet, 92, writers)
    for x, block, words in zip((FIRST_AT, LAST_AT), writers["s1"].block_ids, WORDS, strict=True):
        _shared(sheet, Box(x, 92, BLOCK, 30), block, words)
    sheet.arrow((FIRST_AT + BLOCK, 107), (LAST_AT - 2, 107))


def _written(sheet: Sheet, writers: dict[str, Writer], copy: int) -> None:
    """The first block is shared, and each table has a last block of its own."""
    sheet.panel(Box(MARGIN, 156, INNER, 186), "2. both have written: a last block for each")
    _tables(sheet, 246, writers)
    full, partial = WORDS
    _shared(sheet, Box(FIRST_AT, 246, BLOCK, 30), writers["s1"].block_ids[0], full)
    turn = (FIRST_AT + BLOCK + LAST_AT) / 2 - 3
    for y, name, word in ((198, "s1", FIRST), (296, "s2", SECOND)):
        last, box = writers[name].block_ids[-1], Box(LAST_AT, y, BLOCK, 30)
        boxes = sheet.slots(box, [*partial, ""], SIZE, COLORS[name], width=1.4)
        sheet.slots(boxes[len(partial)], [word], 1, LOOK, width=1.2)
        sheet.label(box, last, "the copy" if last == copy else "the original")
        sheet.arrow((FIRST_AT + BLOCK, 261), (turn, 261), (turn, y + 15), (LAST_AT - 2, y + 15))


def _tables(sheet: Sheet, y: float, writers: dict[str, Writer]) -> None:
    """Two tables, one under the other, and the way from both to the first block."""
    for place, (name, writer) in enumerate(writers.items()):
        top = y - 14 + 32 * place
        text = f"{name}: {', '.join(map(str, writer.block_ids))}"
        sheet.node(Box(MARGIN + 9, top, 70, 26), text, fill=COLORS[name])
        sheet.arrow((MARGIN + 79, top + 13), (104, top + 13), (104, y + 15), head=False)
    sheet.arrow((104, y + 15), (FIRST_AT - 2, y + 15))


def _shared(sheet: Sheet, box: Box, block: int, words: Sequence[str]) -> None:
    """A block that both tables name."""
    sheet.slots(box, words, SIZE, HELD, width=2.6)
    sheet.label(box, block, f"{TIMES}2 shared")
