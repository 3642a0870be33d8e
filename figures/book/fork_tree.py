"""Chapter on growing and sharing: a fork shares its blocks until one of the two writes."""

from matplotlib.axes import Axes

from pagesim.figures.book.kit import LOOK, MARGIN, S1, S2, arrow, drawing, node, note, panel, slots
from pagesim.figures.style import HELD, TIMES, Box
from pagesim.story import Story, Writer

SIZE = 4
PROMPT, FIRST, SECOND = "Four score and seven years ago our", "fathers", "mothers"
WORDS = PROMPT.split()
COLORS = {"s1": S1, "s2": S2}
BLOCK = 174.0


@drawing("A fork copies nothing, until one of the two writes into a shared block", 352)
def fork_tree(axes: Axes) -> str:
    """Before and after the first write: two tables as a tree of blocks."""
    one = _writer()
    other = one.fork()
    full, partial = one.block_ids
    _forked(axes, {"s1": one, "s2": other})
    [(source, target)] = one.write(FIRST)
    other.write(SECOND)
    _written(axes, {"s1": one, "s2": other}, target)
    note(axes, 520, 246, f"copy {source} to {target} before\ns1 writes")
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


def _forked(axes: Axes, writers: dict[str, Writer]) -> None:
    """Both tables name the same blocks."""
    full, partial = writers["s1"].block_ids
    panel(axes, Box(MARGIN, 38, 624, 96), "1. after the fork: both tables name the same blocks")
    _block(axes, 190, 74, full, WORDS[:SIZE], 2)
    _block(axes, 426, 74, partial, WORDS[SIZE:], 2)
    arrow(axes, (190 + BLOCK, 88), (406, 88))
    for place, (name, writer) in enumerate(writers.items()):
        _table(axes, 66 + 27 * place, name, writer.block_ids, 88)
    arrow(axes, (150, 88), (170, 88))


def _written(axes: Axes, writers: dict[str, Writer], copy: int) -> None:
    """The first block is shared, and behind it each has a branch of its own."""
    panel(
        axes,
        Box(MARGIN, 146, 624, 194),
        "2. both have written a word: a branch of its own for each",
    )
    _block(axes, 190, 222, writers["s1"].block_ids[0], WORDS[:SIZE], 2)
    for place, (name, writer) in enumerate(writers.items()):
        y, last = 182 + 94 * place, writer.block_ids[-1]
        _table(axes, 214 + 27 * place, name, writer.block_ids, 236)
        word = (FIRST, SECOND)[place]
        _block(axes, 426, y, last, [*WORDS[SIZE:], word], 1, COLORS[name])
        arrow(axes, (190 + BLOCK, 236), (388, 236), (388, y + 14), (406, y + 14))
        said = "the copy" if last == copy else "the original"
        note(axes, 426 + BLOCK, y + 40, said, ha="right")
    arrow(axes, (150, 236), (170, 236))
    arrow(axes, (513, 274), (513, 212), dashed=True)


def _table(axes: Axes, y: float, name: str, ids: list[int], tree: float) -> None:
    """A table, with a line to the height at which its tree begins."""
    box = Box(MARGIN + 10, y, 92, 21)
    node(axes, box, f"{name}: {ids[0]}, {ids[1]}", fill=COLORS[name])
    arrow(axes, (MARGIN + 103, y + 10), (150, y + 10), (150, tree), head=False)


def _block(
    axes: Axes, x: float, y: float, number: int, words: list[str], refs: int, own: str | None = None
) -> None:
    boxes = slots(
        axes,
        Box(x, y, BLOCK, 28),
        [*words[:-1], ""] if own else words,
        SIZE,
        own or HELD,
        number=str(number),
        width=2.6 if refs > 1 else 1.4,
    )
    if own:
        slots(axes, boxes[len(words) - 1], [words[-1]], 1, LOOK, width=1.2)
    if refs > 1:
        note(axes, x + BLOCK, y - 9, f"{TIMES}{refs} shared", ha="right")
