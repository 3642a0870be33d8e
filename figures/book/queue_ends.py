"""Chapter on today's vLLM: V1's free queue, and what became of each part of V0."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    MARGIN,
    S0,
    arrow,
    drawing,
    listed,
    node,
    note,
    say,
)
from pagesim.figures.style import PAPER, SAVED, Box
from pagesim.story import Story

SIZE, BLOCKS = 4, 10
CELL = 54.0


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
    say(axes, MARGIN, 52, "a request leaves", ha="left", bold=True)
    for place, block in enumerate(table):
        full = block in cached
        node(
            axes,
            Box(MARGIN + 110 + 92 * place, 40, 84, 34),
            str(block),
            "full, cached" if full else "not full",
            fill=SAVED if full else S0,
        )
    left = MARGIN + (624 - CELL * len(after)) / 2
    tops = {block: left + CELL * (place + 0.5) for place, block in enumerate(after)}
    y = 150.0
    for block, x in tops.items():
        fill = SAVED if block in cached else S0 if block in table else PAPER
        node(axes, Box(x - CELL / 2, y, CELL, 32), str(block), fill=fill)
    style.rectangle(axes, Box(left, y, CELL * len(after), 32), fill=None, width=2.2)
    for place, block in enumerate(table):
        x = MARGIN + 152 + 92 * place
        level = 118 + 10 * (place % 2) if block in cached else 104
        arrow(axes, (x, 75), (x, level), (tops[block], level), (tops[block], y - 2))
    say(axes, left - 8, y + 16, "front", ha="right", bold=True)
    say(axes, left + CELL * len(after) + 8, y + 16, "back", ha="left", bold=True)
    first, hit = after[0], after[-1]
    for x, title, says in (
        (
            tops[first],
            "taken next",
            "a new block is always\ntaken from the front;\na cached one is then forgotten",
        ),
        (tops[after[len(after) // 2]], "never used", "in the order\nof their ids"),
        (tops[hit], "found again", "a hit takes its block\nout, wherever it stands"),
    ):
        arrow(axes, (x, y + 33), (x, y + 52))
        center = min(max(x, MARGIN + 74), 570)
        say(axes, center, y + 64, title, bold=True)
        note(axes, center, y + (96 if says.count("\n") == 2 else 90), says, ha="center")
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
