"""Chapter on today's vLLM: V0 and V1 side by side."""

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import MARGIN, S0, S2, arrow, drawing, node, note
from pagesim.figures.style import Box

ROWS = (
    (("free list", "evictor"), ("one queue",), "cached blocks stand in it, at the back"),
    (("GPU pool", "CPU pool"), ("GPU pool",), "a victim is computed again"),
    (("fork", "copy on write"), (), "n outputs are n requests"),
    (("waiting", "running", "swapped"), ("waiting", "running"), "none is swapped"),
    (("prefill step", "decode step"), ("one kind of step",), "tokens that are not yet computed"),
    (("can_allocate", "allocate"), ("allocate_slots",), "does it, or returns None"),
    (("Python's hash()",), ("SHA-256",), "the same in every process"),
)
LEFT, RIGHT, TALL = 252.0, 176.0, 30.0


@drawing("From V0 to V1: the same work with fewer parts", 372)
def v0_v1(axes: Axes) -> str:
    """A row for each part of V0, and what is left of it."""
    at = MARGIN + LEFT + 34
    for x, wide, text, color in ((MARGIN, LEFT, "V0 (0.6.4)", S0), (at, RIGHT, "V1 (0.33.0)", S2)):
        node(axes, Box(x, 40, wide, 24), text, fill=color)
    for row, (old, new, why) in enumerate(ROWS):
        y = 76 + 41 * row
        _boxes(axes, MARGIN, y, LEFT, old)
        arrow(axes, (MARGIN + LEFT + 5, y + TALL / 2), (at - 5, y + TALL / 2))
        if new:
            _boxes(axes, at, y, RIGHT, new)
        else:
            style.rectangle(axes, Box(at, y, RIGHT, TALL), fill=None, edge=style.MUTED, dashed=True)
            note(axes, at + RIGHT / 2, y + TALL / 2, "gone", ha="center")
        note(
            axes,
            at + RIGHT + 8,
            y + TALL / 2,
            why.replace(", ", ",\n", 1) if len(why) > 30 else why,
        )
    rows = "; ".join(
        f"{', '.join(old)}: {', '.join(new) or 'gone'} ({why})" for old, new, why in ROWS
    )
    return f"What became of V0's parts. {rows}."


def _boxes(axes: Axes, left: float, y: float, wide: float, names: tuple[str, ...]) -> None:
    each = (wide - 6 * (len(names) - 1)) / len(names)
    for place, name in enumerate(names):
        box = Box(left + (each + 6) * place, y, each, TALL)
        node(axes, box, name, bold=False)
