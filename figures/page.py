"""What the pictures with numbers share: a page with notes under it, scales, ticks, names.

A page is seven inches wide, like a textbook's column, so that its smallest type prints at 8 points.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.ticker import MaxNLocator

from pagesim.figures import style
from pagesim.figures.sheet import Sheet, blank
from pagesim.figures.style import Picture

WIDTH, MARGIN = 504.0, 12.0
ROOM = WIDTH - 2 * MARGIN
LINE = 11.0
BOLD = 1.16  # DejaVu Sans Bold is at most this much wider than the regular type
GRID = "#D9D9D9"
MINUS, EN_DASH = "\N{MINUS SIGN}", "\N{EN DASH}"

POLICIES = {
    "max": "Orca (Max)",
    "pow2": "Orca (Pow2)",
    "oracle": "Orca (Oracle)",
    "static": "static batches",
    "token": "token attention",
    "paged": "paged (vLLM)",
    "v1": "paged (vLLM V1)",
}


def policy_name(policy: str) -> str:
    """The paper's name for a policy; a name that is not ours stays as it is."""
    return POLICIES.get(policy, policy)


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values to the sheet: ``low`` to ``start`` and ``high`` to ``end``, in points."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value, which must be above 0 if the scale is logarithmic."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return self.start + (at - low) / (high - low) * (self.end - self.start)


def ticks(high: float, about: int = 5) -> list[float]:
    """Round numbers from 0 up to ``high``, about ``about`` of them."""
    values = MaxNLocator(about, steps=[1, 2, 2.5, 5, 10]).tick_values(0, high)
    return [float(value) for value in values if 0 <= value <= high * (1 + 1e-9)]


def apart(places: list[float]) -> list[float]:
    """Where the names of lines stand: beside the ends of their lines, and not on each other."""
    moved, free = list(places), -math.inf
    for place in sorted(range(len(places)), key=lambda i: places[i]):
        moved[place] = max(places[place], free)
        free = moved[place] + LINE
    return moved


def sheet(
    title: str, subtitle: str, body: float, notes: Iterable[str]
) -> tuple[Picture, Sheet, float]:
    """A sheet with a title above and notes below, ``body`` points apart.

    Returns the figure, its sheet, and where the body begins.
    """
    heads = wrapped(title, ROOM / BOLD, style.TITLE)
    lines = wrapped(subtitle, ROOM)
    feet = [line for note in notes for line in wrapped(note, ROOM)]
    top = MARGIN + 15.0 * len(heads) + LINE * len(lines) + 9
    figure, paper = blank(WIDTH, top + body + LINE * len(feet) + (9 if feet else 0) + MARGIN)
    figure.heading = title
    for place, line in enumerate(heads):
        y = MARGIN + 6 + 15 * place
        paper.write(MARGIN, y, line, size=style.TITLE, ha="left", bold=True)
    for start, texts in ((MARGIN + 6 + 15 * len(heads), lines), (top + body + 13, feet)):
        for place, line in enumerate(texts):
            paper.write(MARGIN, start + LINE * place, line, ha="left", color=style.MUTED)
    return figure, paper, top


def wrapped(text: str, room: float, size: float = style.TEXT) -> list[str]:
    """A text in lines at most ``room`` points wide; a word that is wider is cut."""
    space = style.text_width("n n", size) - 2 * style.text_width("n", size)
    lines: list[str] = []
    used = math.inf
    for word in (piece for whole in text.split() for piece in _pieces(whole, room, size)):
        width = style.text_width(word, size)
        if used + space + width <= room:
            lines[-1] += f" {word}"
            used += space + width
        else:
            lines.append(word)
            used = width
    return lines


def _pieces(word: str, room: float, size: float) -> list[str]:
    width = style.text_width(word, size)
    if width <= room:
        return [word]
    each = max(1, int(0.8 * len(word) * room / width))
    return [word[start : start + each] for start in range(0, len(word), each)]
