"""Chapter on today's vLLM: V0 and V1 side by side."""

from pagesim.figures.book.kit import MARGIN, S0, S2, WIDTH, Sheet, drawing
from pagesim.figures.style import Box

ROWS = (
    (("free list", "evictor"), "free queue", "cached blocks are at its back"),
    (("GPU pool", "CPU pool"), "GPU pool", "a victim is computed again"),
    (("fork", "copy-on-write"), "", "n outputs are n requests"),
    (("waiting", "running", "swapped"), "waiting, running", "no request is swapped"),
    (("prefill step", "decode step"), "one kind of step", "tokens that are not computed yet"),
    (("can_allocate", "allocate"), "allocate_slots", "does it, or returns None"),
    (("Python's hash()",), "SHA-256", "the same in every process"),
)
LEFT, RIGHT, TALL, PITCH = 240.0, 240.0, 38.0, 46.0


@drawing("From V0 to V1: the same work with fewer parts", 398)
def v0_v1(sheet: Sheet) -> str:
    """A row for each part of V0, and what is left of it."""
    at = WIDTH - MARGIN - RIGHT
    for x, wide, text, color in ((MARGIN, LEFT, "V0 (0.6.4)", S0), (at, RIGHT, "V1 (0.33.0)", S2)):
        sheet.node(Box(x, 38, wide, 26), text, fill=color)
    for row, (old, new, why) in enumerate(ROWS):
        y = 72 + PITCH * row
        _boxes(sheet, MARGIN, y, LEFT, old)
        sheet.arrow((MARGIN + LEFT + 4, y + TALL / 2), (at - 4, y + TALL / 2))
        sheet.node(Box(at, y, RIGHT, TALL), new or "gone", why, bold=bool(new), dashed=not new)
    rows = "; ".join(f"{', '.join(old)}: {new or 'gone'} ({why})" for old, new, why in ROWS)
    return f"What became of V0's parts. {rows}."


def _boxes(sheet: Sheet, left: float, y: float, wide: float, names: tuple[str, ...]) -> None:
    each = (wide - 6 * (len(names) - 1)) / len(names)
    for place, name in enumerate(names):
        box = Box(left + (each + 6) * place, y, each, TALL)
        sheet.node(box, name, bold=False)
