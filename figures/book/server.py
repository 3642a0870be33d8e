"""The parts of a server: who decides with ids, who holds bytes; and where a chapter is in it."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    LOOK,
    MARGIN,
    PANEL,
    SMALL,
    WIDTH,
    arrow,
    drawing,
    node,
    note,
    panel,
    say,
)
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


@drawing("A server: one side knows only the ids of blocks, the other holds their bytes", 316)
def server(axes: Axes, here: str = "") -> str:
    """The whole drawing; ``here`` is a part to point at."""
    panel(axes, Box(MARGIN, 40, 268, 236), "Decides, in ids")
    panel(axes, Box(368, 40, 268, 236), "Computes, in bytes")
    for left, parts in ((MARGIN + 12, IDS), (380, BYTES)):
        note(axes, left + 170, 54, "(in an OS)")
        pitch = 174 / (len(parts) - 1)
        for place, (name, (does, alike)) in enumerate(parts.items()):
            y = 64 + pitch * place
            node(axes, Box(left, y, 164, 32), name, does, fill=LOOK if name == here else PAPER)
            note(axes, left + 170, y + 16, alike.replace(" ", "\n", 1))
            if place:
                ends = (left + 82, y - pitch + 32), (left + 82, y - 1)
                arrow(axes, *(ends[::-1] if name == "cache engine" else ends))
    arrow(axes, (284, 80), (364, 80))
    note(axes, 324, 60, "every step:\ntables, slots,", ha="center")
    note(axes, 324, 99, "blocks to copy\nand to swap", ha="center")
    arrow(axes, (284, 167), (364, 167), dashed=True)
    note(axes, 324, 185, "an id here is\na page there", ha="center")
    note(
        axes,
        MARGIN,
        296,
        "Grey: the same part in an operating system. There a request would be a process, a block a "
        "page frame,\nand a token that finds its last block full a page fault.",
    )
    pairs = "; ".join(f"{name} ({alike})" for name, (_, alike) in (IDS | BYTES).items())
    return (
        "Left, in ids only: scheduler, block manager, block tables, allocators. Right, in bytes: "
        "kernels, tensors, cache engine. In every step the left side sends tables, slots and the "
        f"blocks to copy and to swap. In an operating system: {pairs}; a request is a process."
    )


@drawing("You are here", 40)
def here(axes: Axes, part: str) -> str:
    """The parts in one line, ``part`` lit: for the head of a chapter."""
    names = {"ids": IDS, "bytes": BYTES}
    wide = {name: style.text_width(name, SMALL) * 1.1 + 14 for name in HERE}
    kinds = {kind: style.text_width(kind, SMALL) + 12 for kind in names}
    free = WIDTH - 2 * MARGIN - sum(wide.values()) - sum(kinds.values())
    gap = free / (len(HERE) + 2)
    x = MARGIN
    for kind, parts in names.items():
        room = kinds[kind] + sum(wide[name] + gap for name in parts)
        style.rectangle(axes, Box(x, 5, room, 30), fill=PANEL, edge=None)
        note(axes, x + 7, 20, kind)
        x += kinds[kind]
        for name in parts:
            lit = name == part
            box = Box(x, 9, wide[name], 22)
            fill = LOOK if lit else PAPER
            style.rectangle(axes, box, fill=fill, width=2.2 if lit else 0.8)
            color = style.ink_on(fill) if lit else MUTED
            say(axes, *box.center, name, size=SMALL, bold=lit, color=color)
            x += wide[name] + gap
        x += 2 * gap
    other = "bytes" if part in BYTES else "ids"
    return f"Of the server's parts this chapter is about the {part}, on the side of the {other}."
