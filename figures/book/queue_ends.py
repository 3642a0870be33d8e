"""Chapter on today's vLLM: V1's free queue with its two ends, and the block that is never in it."""

from pagesim.figures.book.kit import ALICE, MARGIN, S0, WIDTH, Sheet, drawing, listed
from pagesim.figures.style import PAPER, SAVED, Box
from pagesim.story import Story

SIZE, BLOCKS = 4, 8
CELL, TOP = 56.0, 156.0
FATES = {
    "taken next": "a new block comes\nfrom the front; if it was\ncached, it is evicted",
    "never used": "in the order\nof their ids",
    "found again": "a hit takes its block\nout, wherever it is",
}


def _queue(story: Story) -> list[int]:
    return [b.block_id for b in story.manager.block_pool.free_block_queue.get_all_free_blocks()]


@drawing("V1's free queue: what may be found again goes to the back, the rest to the front", 324)
def queue_ends(sheet: Sheet) -> str:
    """The queue after a request has left, who takes from where, and the null block."""
    story = Story(BLOCKS, block_size=SIZE, caching=True, engine="v1", record=False)
    writer = story.arrive(ALICE)
    story.batch()
    table = writer.block_ids
    writer.leave()
    after, pool = _queue(story), story.manager.block_pool
    cached = {b.block_id for b in pool.blocks if b.block_hash is not None}
    null = pool.null_block.block_id
    assert null not in after
    _table(sheet, table, cached)
    middles = _cells(sheet, after, table, cached)
    _moves(sheet, table, cached, middles)
    _null(sheet, null)
    _fates(sheet, [middles[block] for block in (after[0], after[len(after) // 2], after[-1])])
    sheet.foot(
        294,
        "Green: cached. A table is freed from its last block, so a text is evicted from its end.",
    )
    return (
        f"A request with the table {listed(table)} leaves. The queue is now {listed(after)}, from "
        "front to back. The block without a hash goes to the front, the cached ones to the back, "
        "last block first. New blocks are taken from the front; a hit takes its block out "
        f"from wherever it is. Block {null}, the null block, is never in the queue."
    )


def _table(sheet: Sheet, table: list[int], cached: set[int]) -> None:
    """The blocks of the request that leaves."""
    sheet.say(MARGIN, 56, "s0 leaves", ha="left", bold=True)
    for place, block in enumerate(table):
        box = Box(MARGIN + 76 + 96 * place, 38, 88, 38)
        says, fill = ("full, cached", SAVED) if block in cached else ("not full", S0)
        sheet.node(box, str(block), says, fill=fill)


def _cells(sheet: Sheet, after: list[int], table: list[int], cached: set[int]) -> dict[int, float]:
    """The queue from front to back; returns the middle of each block's cell."""
    wide = CELL * len(after)
    left = (WIDTH - wide) / 2
    middles = {block: left + CELL * (place + 0.5) for place, block in enumerate(after)}
    for block, x in middles.items():
        fill = SAVED if block in cached else S0 if block in table else PAPER
        sheet.node(Box(x - CELL / 2, TOP, CELL, 34), str(block), fill=fill)
    sheet.rectangle(Box(left, TOP, wide, 34), fill=None, width=2.2)
    sheet.say(left - 10, TOP + 17, "front", ha="right", bold=True)
    sheet.say(left + wide + 10, TOP + 17, "back", ha="left", bold=True)
    return middles


def _moves(sheet: Sheet, table: list[int], cached: set[int], middles: dict[int, float]) -> None:
    """An arrow from each block of the table to its place in the queue."""
    for place, block in enumerate(table):
        x, end = MARGIN + 120 + 96 * place, middles[block]
        level = 124 + 12 * (place % 2) if block in cached else 108
        sheet.arrow((x, 77), (x, level), (end, level), (end, TOP - 2))


def _null(sheet: Sheet, block: int) -> None:
    """The block that a table names where there is nothing left to read."""
    box = Box(WIDTH - MARGIN - 130, 38, 130, 38)
    sheet.node(box, f"{block}: the null block", "never in the queue", dashed=True)


def _fates(sheet: Sheet, xs: list[float]) -> None:
    """What becomes of the queue's first block, of one in the middle, and of the last."""
    for x, (title, says) in zip(xs, FATES.items(), strict=True):
        sheet.arrow((x, TOP + 35), (x, TOP + 54))
        at = min(max(x, MARGIN + 72), WIDTH - MARGIN - 72)
        sheet.say(at, TOP + 66, title, bold=True)
        sheet.note(at, TOP + 82 + 7 * says.count("\n"), says, ha="center")
