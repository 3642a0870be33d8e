"""Chapter on today's vLLM: V1's free queue with its two ends, and the block that is never in it."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    MARGIN,
    S0,
    WIDTH,
    arrow,
    drawing,
    foot,
    listed,
    node,
    note,
    say,
)
from pagesim.figures.style import PAPER, SAVED, Box
from pagesim.story import Story

SIZE, BLOCKS = 4, 8
CELL, TOP = 56.0, 156.0


def _queue(story: Story) -> list[int]:
    return [b.block_id for b in story.manager.block_pool.free_block_queue.get_all_free_blocks()]


@drawing("V1's free queue: what may be found again goes to the back, the rest to the front", 324)
def queue_ends(axes: Axes) -> str:
    """The queue after a request has left, who takes from where, and the null block."""
    story = Story(BLOCKS, block_size=SIZE, caching=True, engine="v1", record=False)
    writer = story.arrive("Alice was beginning to get very tired of sitting by")
    story.batch()
    table = writer.block_ids
    writer.leave()
    after, pool = _queue(story), story.manager.block_pool
    cached = {b.block_id for b in pool.blocks if b.block_hash is not None}
    null = pool.null_block.block_id
    assert null not in after
    say(axes, MARGIN, 56, "s0 leaves", ha="left", bold=True)
    for place, block in enumerate(table):
        full = block in cached
        box = Box(MARGIN + 76 + 96 * place, 38, 88, 38)
        says = "full, cached" if full else "not full"
        node(axes, box, str(block), says, fill=SAVED if full else S0)
    left = (WIDTH - CELL * len(after)) / 2
    middles = {block: left + CELL * (place + 0.5) for place, block in enumerate(after)}
    for block, x in middles.items():
        fill = SAVED if block in cached else S0 if block in table else PAPER
        node(axes, Box(x - CELL / 2, TOP, CELL, 34), str(block), fill=fill)
    style.rectangle(axes, Box(left, TOP, CELL * len(after), 34), fill=None, width=2.2)
    for place, block in enumerate(table):
        x = MARGIN + 120 + 96 * place
        level = 124 + 12 * (place % 2) if block in cached else 108
        arrow(axes, (x, 77), (x, level), (middles[block], level), (middles[block], TOP - 2))
    say(axes, left - 10, TOP + 17, "front", ha="right", bold=True)
    say(axes, left + CELL * len(after) + 10, TOP + 17, "back", ha="left", bold=True)
    _null(axes, null)
    ends = (
        (
            after[0],
            "taken next",
            "a new block comes\nfrom the front; if it was\ncached, it is evicted",
        ),
        (after[len(after) // 2], "never used", "in the order\nof their ids"),
        (after[-1], "found again", "a hit takes its block\nout, wherever it is"),
    )
    for block, title, says in ends:
        x = middles[block]
        arrow(axes, (x, TOP + 35), (x, TOP + 54))
        at = min(max(x, MARGIN + 72), WIDTH - MARGIN - 72)
        say(axes, at, TOP + 66, title, bold=True)
        note(axes, at, TOP + 82 + 7 * says.count("\n"), says, ha="center")
    foot(
        axes,
        294,
        "Green: cached. A table is freed from its last block, so a text is evicted from its end.",
    )
    return (
        f"A request with the table {listed(table)} leaves. The queue is now {listed(after)}, from "
        "front to back. The block without a hash goes to the front, the cached ones to the back, "
        "last block first. New blocks are taken from the front; a hit takes its block out "
        f"from wherever it is. Block {null}, the null block, is never in the queue."
    )


def _null(axes: Axes, block: int) -> None:
    """The block that a table names where there is nothing left to read."""
    box = Box(WIDTH - MARGIN - 130, 38, 130, 38)
    node(axes, box, f"{block}: the null block", "never in the queue", dashed=True)
