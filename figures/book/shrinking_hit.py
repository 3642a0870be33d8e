"""Chapter on several kinds of memory: a hit that three groups must agree on shrinks in rounds."""

from typing import Any

from pagesim import v1
from pagesim.figures.book.kit import MARGIN, PANEL, S0, S1, S2, SMALL, Sheet, drawing, listed
from pagesim.figures.style import INK, Box

SIZE, BLOCKS = 4, 6
KINDS = ("full attention", S0, None), ("window of 9", S2, 9), ("window of 13", S1, 13)
MISSING = ((), (1, 5), (3,))
"""The entries of the prompt's table that each group has lost."""
LEFT, CELL, TALL, DOWN = 150.0, 46.0, 20.0, 26.0
Answer = tuple[int, int, int]


def answers() -> list[list[Answer]]:
    """Round by round: the group, the tokens it was asked for, and those it found."""
    groups = [
        v1.SlidingWindowSpec(SIZE, sliding_window=width) if width else v1.FullAttentionSpec(SIZE)
        for _, _, width in KINDS
    ]
    manager = v1.KVCacheManager(60, groups=groups, retention_interval=None)
    request = v1.Request("first", range(SIZE * BLOCKS + 1), block_size=SIZE)
    manager.allocate_slots(request, request.num_tokens)
    tables = manager.get_block_ids("first")
    manager.evict_blocks([tables[g][entry] for g, lost in enumerate(MISSING) for entry in lost])
    rounds: list[list[Answer]] = []
    for group in manager.coordinator.single_type_managers:
        _listen(group, rounds)
    manager.get_computed_blocks(v1.Request("again", request.all_token_ids, block_size=SIZE))
    return rounds


def _listen(group: Any, rounds: list[list[Answer]]) -> None:
    """Note what a group answers; a group that was asked in this round begins another."""
    ask, number = group.find_longest_cache_hit, group.kv_cache_group_id

    def answer(hashes: Any, asked: int, ids: Any) -> Any:
        blocks = ask(hashes, asked, ids)
        if not rounds or any(number <= other for other, *_ in rounds[-1]):
            rounds.append([])
        rounds[-1].append((number, asked, len(blocks[0]) * SIZE))
        return blocks

    group.find_longest_cache_hit = answer


@drawing("A hit that all groups agree on: asked in turn, each may make it shorter", 304)
def shrinking_hit(sheet: Sheet) -> str:
    """Each question to a group as a row of blocks, with the hit before and after it."""
    for block in range(BLOCKS):
        sheet.note(LEFT + CELL * (block + 0.5), 48, f"entry {block}", ha="center")
    sheet.note(LEFT + CELL * BLOCKS + 14, 48, "tokens")
    top, told = 58.0, []
    for number, asked in enumerate(answers(), 1):
        sheet.say(MARGIN, top + TALL / 2, f"{number}.", ha="left", bold=True)
        for group, before, after in asked:
            _row(sheet, top, group, before, after)
            told.append(f"{KINDS[group][0]}: {before} to {after}")
            top += DOWN
        top += 8
    sheet.foot(
        276,
        "Filled: cached. Grey: beyond what is asked for. The thick line is the end of the group's "
        "hit. Full attention is asked only once: a shorter beginning of its hit is a hit too.",
    )
    lost = listed(
        f"{KINDS[g][0]} lacks {listed(map(str, entries))}"
        for g, entries in enumerate(MISSING)
        if entries
    )
    return (
        f"A prompt of {SIZE * BLOCKS + 1} tokens in blocks of {SIZE}. Full attention has all six "
        f"entries; {lost}. Tokens asked for and found, in turn: {'; '.join(told)}."
    )


def _row(sheet: Sheet, top: float, group: int, before: int, after: int) -> None:
    name, color, _ = KINDS[group]
    sheet.say(MARGIN + 18, top + TALL / 2, name, ha="left", size=SMALL)
    for block in range(BLOCKS):
        box = Box(LEFT + CELL * block, top, CELL, TALL)
        is_asked, has = (block + 1) * SIZE <= before, block not in MISSING[group]
        fill = color if has and is_asked else None
        sheet.rectangle(box, fill=fill if is_asked else PANEL, width=0.6, dashed=not has)
    end = LEFT + CELL * after / SIZE
    sheet.line([end, end], [top - 3, top + TALL + 3], color=INK, width=3)
    said = f"{before} → {after}" if after < before else str(after)
    bold = after < before
    sheet.say(LEFT + CELL * BLOCKS + 14, top + TALL / 2, said, ha="left", bold=bold)
