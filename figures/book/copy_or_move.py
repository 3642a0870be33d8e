"""Chapter on the second tier: a victim's blocks are moved, given up, or were copied before."""

from pagesim.figures.book.kit import MARGIN, PANEL, S0, SMALL, WIDTH, Sheet, drawing
from pagesim.figures.style import CPU_HATCH, PAPER, Box, ink_on

LEFT, RIGHT = MARGIN + 58, WIDTH - MARGIN - 8
EACH, BAR, GAP = 112.0, 22.0, 26.0
STORED, FULL, BACK = 0.10, 0.42, 0.66
"""When a store begins, when the memory is full, and when there is room again."""
Bar = tuple[float, float, str, bool]
"""From when, to when, what it is called, and whether something is wrong with it."""


@drawing("Three ways for a victim: moved, computed again, or copied long before", 428)
def copy_or_move(sheet: Sheet) -> str:
    """Three panels; in each, where Alice's blocks are on the GPU and on the CPU."""
    sheet.note(_at(FULL), 48, "memory is full", ha="center")
    sheet.note(_at(BACK), 48, "room again", ha="center")
    whole, lost = (0.0, FULL, "Alice", False), (BACK, 1.0, "Alice", False)
    _lane(sheet, 0, "V0 swaps", [whole, lost], [(FULL, BACK, "stands still", False)])
    _lane(sheet, 1, "V1", [whole, (BACK, 0.84, "again", True), (0.84, 1.0, "Alice", False)], [])
    copies = [(STORED, 1.0, "the copy stays", False)]
    _lane(sheet, 2, "V1 with a second tier", [whole, lost], copies)
    for place, when, up in ((0, FULL, True), (0, BACK, False), (2, STORED, True), (2, BACK, False)):
        _arrow(sheet, place, when, up)
    sheet.note(_at((FULL + BACK) / 2), 58 + EACH + 26 + BAR * 1.5 + GAP, "given up", ha="center")
    sheet.foot(
        400,
        "V0 moves the blocks when memory is full, and must move them back. V1 computes them again, "
        "or loads a copy that was made when the blocks were new.",
    )
    return (
        "Time runs to the right. V0: when memory is full, the blocks move from the GPU to the CPU, "
        "where the sequence stands still, and back when there is room. V1: the blocks are given "
        "up and computed again. V1 with a second tier: the blocks are copied to the CPU early; "
        "when there is room, they are loaded, and the copy stays."
    )


def _at(when: float) -> float:
    return LEFT + when * (RIGHT - LEFT)


def _lane(sheet: Sheet, place: int, title: str, gpu: list[Bar], cpu: list[Bar]) -> None:
    top = 58 + EACH * place
    sheet.panel(Box(MARGIN, top, WIDTH - 2 * MARGIN, EACH - 8), title)
    for name, y, bars in (("CPU", top + 26, cpu), ("GPU", top + 26 + BAR + GAP, gpu)):
        sheet.note(MARGIN + 9, y + BAR / 2, name)
        hatch = CPU_HATCH if name == "CPU" else ""
        for start, end, text, again in bars:
            box = Box(_at(start), y, _at(end) - _at(start), BAR)
            sheet.rectangle(box, fill=PAPER if again else S0, hatch=hatch)
            wide = 0.58 * SMALL * len(text)
            if name == "CPU":
                x, mid = box.center
                sheet.rectangle(Box(x - wide / 2 - 3, mid - 7, wide + 6, 14), fill=PANEL, edge=None)
            ground = PANEL if name == "CPU" else PAPER if again else S0
            sheet.say(*box.center, text, size=SMALL, color=ink_on(ground))


def _arrow(sheet: Sheet, place: int, when: float, up: bool) -> None:
    x, top = _at(when), 58 + EACH * place + 26 + BAR
    ends = [(x, top + GAP), (x, top + 1)] if up else [(x, top), (x, top + GAP - 1)]
    sheet.arrow(*ends, width=1.8)
