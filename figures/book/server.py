"""The parts of a server: who decides with ids, who holds bytes; and where a chapter is in it."""

from pagesim.figures import style
from pagesim.figures.book.kit import INNER, LOOK, MARGIN, PANEL, SMALL, Sheet, drawing
from pagesim.figures.style import MUTED, PAPER, Box

IDS = {
    "scheduler": ("which requests compute", "process scheduler"),
    "block manager": ("how many blocks each gets", "memory manager"),
    "block tables": ("which block is whose", "page tables"),
    "allocators": ("which ids are free", "free frames"),
}
BYTES = {
    "kernels": ("read and write by the tables", "MMU"),
    "tensors": ("the keys and the values", "memory, disk"),
    "cache engine": ("copies and swaps blocks", "disk driver"),
}
HERE = (*IDS, *BYTES)
"""The parts that a map can point at."""
WIDE, TALL, PARTED = 196.0, 52.0, 124.0


@drawing("A server: one side knows only the ids of blocks, the other holds their bytes", 400)
def server(sheet: Sheet, here: str = "") -> str:
    """The whole drawing; ``here`` is a part to point at."""
    sheet.sides(38, WIDE, 304)
    _side(sheet, MARGIN, IDS, here)
    _side(sheet, MARGIN + WIDE + PARTED, BYTES, here)
    _between(sheet)
    sheet.foot(
        360,
        "OS: the same part of an operating system. A request would be a process there, a block a "
        "page frame, and a token that finds its last block full a page fault.",
    )
    pairs = "; ".join(f"{name} ({alike})" for name, (_, alike) in (IDS | BYTES).items())
    return (
        "Left, in ids only: scheduler, block manager, block tables, allocators. Right, in bytes: "
        "kernels, tensors, cache engine. In every step the left side sends tables, slots and the "
        f"blocks to copy and to swap. In an operating system: {pairs}; a request is a process."
    )


def _side(sheet: Sheet, left: float, parts: dict[str, tuple[str, str]], here: str) -> None:
    """The parts of a side under each other, with an arrow from one to the next."""
    middle, pitch = left + WIDE / 2, 216 / (len(parts) - 1)
    for place, (name, (does, alike)) in enumerate(parts.items()):
        y = 66 + pitch * place
        fill = LOOK if name == here else PAPER
        sheet.rectangle(Box(left + 9, y, WIDE - 18, TALL), fill=fill)
        ink = style.ink_on(fill)
        sheet.say(middle, y + 11, name, bold=True, color=ink)
        sheet.note(middle, y + 26, does, color=ink, ha="center")
        grey = ink if name == here else MUTED
        sheet.note(middle, y + 41, f"OS: {alike}", color=grey, ha="center")
        if place:
            ends = (middle, y - pitch + TALL), (middle, y - 1)
            sheet.arrow(*(ends[::-1] if name == "cache engine" else ends))


def _between(sheet: Sheet) -> None:
    """What the left side sends to the right one, and how ids become places there."""
    near, far = MARGIN + WIDE + 4, MARGIN + WIDE + PARTED - 4
    middle = MARGIN + WIDE + PARTED / 2
    sheet.note(middle, 66, "every step:\ntables, slots,", ha="center")
    sheet.arrow((near, 92), (far, 92), width=2)
    sheet.note(middle, 118, "blocks to copy\nand to swap", ha="center")
    sheet.arrow((near, 236), (far, 236), dashed=True)
    sheet.note(middle, 262, "an id here is\na page there", ha="center")


@drawing("You are here", 72, titled=False)
def here(sheet: Sheet, part: str) -> str:
    """The parts in two lines, ``part`` lit: for the head of a chapter."""
    for row, (kind, parts) in enumerate({"ids": IDS, "bytes": BYTES}.items()):
        y = 6 + 31 * row
        sheet.rectangle(Box(MARGIN, y, INNER, 29), fill=PANEL, edge=None)
        sheet.note(MARGIN + 8, y + 14.5, kind)
        each = (INNER - 54 - 6 * len(IDS)) / len(IDS)
        for place, name in enumerate(parts):
            lit = name == part
            box = Box(MARGIN + 54 + (each + 6) * place, y + 3.5, each, 22)
            fill = LOOK if lit else PAPER
            sheet.rectangle(box, fill=fill, width=2.2 if lit else 0.8)
            color = style.ink_on(fill) if lit else MUTED
            sheet.say(*box.center, name, size=SMALL, bold=lit, color=color)
    other = "bytes" if part in BYTES else "ids"
    return f"Of the server's parts this chapter is about the {part}, on the side of the {other}."
