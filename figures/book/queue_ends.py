"""Chapter on today's vLLM: V1's free queue, and what became of each part of V0."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import MARGIN, S0, arrow, drawing, listed, node, note, say
from pagesim.figures.style import PAPER, SAVED, Box
from pagesim.story import Story

SIZE, BLOCKS = 4, 10
CELL, TOP = 54.0, 150.0
FATES = {
    "taken next": "a new block is always\ntaken from the front;\na cached one is then forgotten",
    "never used": "in the order\nof their ids",
    "found again": "a hit takes its block\nout, wherever it stands",
}


def _queue(story: Story) -> list[int]:
    return [b.block_id for b in story.manager.block_pool.free_block_queue.get_all_free_blocks()]


@drawing("V1's free queue: what may be found again goes to the back, the rest to the front", 300)
def queue_ends(axes: Axes) -> str:
    """The queue before and after a request leaves, and who takes from where."""
    story = Story(BLOCKS, block_size=SIZE, caching=True, engine="v1", record=False)
    writer = story.arrive("Alice was beginning to get very tired of sitting by")
    story.batch()
    table, before = writer.block_ids, _queue(story)
    writer.leave()
    after = _queue(story)
    cached = {b.block_id for b in story.manager.block_pool.blocks if b.block_hash is not None}
    left = MARGIN + (624 - CELL * len(after)) / 2
    tops = {block: left + CELL * (place + 0.5) for place, block in enumerate(after)}
    _table(axes, table, cached)
    _cells(axes, tops, table, cached)
    _moves(axes, tops, table, cached)
    say(axes, left - 8, TOP + 16, "front", ha="right", bold=True)
    say(axes, left + CELL * len(after) + 8, TOP + 16, "back", ha="left", bold=True)
    _fates(axes, [tops[block] for block in (after[0], after[len(after) // 2], after[-1])])
    style.rectangle(axes, Box(MARGIN, 274, 18, 13), fill=SAVED)
    note(
        axes,
        MARGIN + 24,
        281,
        "cached. The last block of the table comes first: so the end of a text is forgotten before "
        "its beginning.",
    )
    return (
        f"A request with the table {listed(table)} leaves. The queue was {listed(before)}; it is "
        f"now {listed(after)}. The block without a hash goes to the front, the cached ones to the "
        "back, last block first. New blocks are taken from the front; a hit takes its block out "
        "from wherever it stands."
    )


def _table(axes: Axes, table: list[int], cached: set[int]) -> None:
    """The blocks of the request that leaves."""
    say(axes, MARGIN, 52, "a request leaves", ha="left", bold=True)
    for place, block in enumerate(table):
        box = Box(MARGIN + 110 + 92 * place, 40, 84, 34)
        what, fill = ("full, cached", SAVED) if block in cached else ("not full", S0)
        node(axes, box, str(block), what, fill=fill)


def _cells(axes: Axes, tops: dict[int, float], table: list[int], cached: set[int]) -> None:
    """The queue after it has left, from the front to the back."""
    for block, x in tops.items():
        fill = SAVED if block in cached else S0 if block in table else PAPER
        node(axes, Box(x - CELL / 2, TOP, CELL, 32), str(block), fill=fill)
    left = min(tops.values()) - CELL / 2
    style.rectangle(axes, Box(left, TOP, CELL * len(tops), 32), fill=None, width=2.2)


def _moves(axes: Axes, tops: dict[int, float], table: list[int], cached: set[int]) -> None:
    """An arrow from each block of the table to its place in the queue."""
    for place, block in enumerate(table):
        x = MARGIN + 152 + 92 * place
        level = 118 + 10 * (place % 2) if block in cached else 104
        arrow(axes, (x, 75), (x, level), (tops[block], level), (tops[block], TOP - 2))


def _fates(axes: Axes, xs: list[float]) -> None:
    """What happens to the first block of the queue, to one in the middle, and to the last."""
    for x, (title, says) in zip(xs, FATES.items(), strict=True):
        arrow(axes, (x, TOP + 33), (x, TOP + 52))
        center = min(max(x, MARGIN + 74), 570)
        say(axes, center, TOP + 64, title, bold=True)
        note(axes, center, TOP + (96 if says.count("\n") == 2 else 90), says, ha="center")
