"""Chapters 3 and on long sequences: partial answers that become one, and one that starts early."""

import numpy as np
from numpy.typing import NDArray

from pagesim.figures import style
from pagesim.figures.book.kit import COLORS, INNER, LOOK, MARGIN, Sheet, drawing
from pagesim.figures.style import Box

SCORES = np.array(
    [[1.0, 0.2, 1.6, 0.6, 1.2, 0.4, 0.9, 1.4], [0.4, 2.6, 0.9, 1.8, 0.2, 1.1, 2.0, 0.7]]
)
VALUES = np.array(
    [[0.2, 0.9, 0.4, 0.1, 0.5, 0.3, 0.8, 0.6], [1.0, 0.4, 0.2, 0.7, 0.3, 0.6, 0.9, 0.8]]
)
HIGH, BAR = 72.0, 16.0
WIDE, RIGHT = 246.0, 282.0
Floats = NDArray[np.float64]


@drawing("Two partitions: each attends alone, and its output counts as much as its sum", 368)
def merge(sheet: Sheet) -> str:
    """Two partial answers, rescaled to one maximum and added."""
    ms = SCORES.max(axis=1)
    bars = np.exp(SCORES - ms[:, None])
    totals = bars.sum(axis=1)
    outs = (bars * VALUES).sum(axis=1) / totals
    m = ms.max()
    shrink = np.exp(ms - m)
    parts = totals * shrink
    answer = parts @ outs / parts.sum()
    flat = np.exp(SCORES - m)
    assert np.isclose(answer, (flat * VALUES).sum() / flat.sum())
    for left, title in ((MARGIN, "each alone, its own maximum"), (RIGHT, "one maximum for both")):
        sheet.panel(Box(left, 40, WIDE, 226), title)
    for part in range(2):
        _alone(sheet, part, bars[part], {"m": ms[part], "l": totals[part], "o": outs[part]})
        _rescaled(sheet, part, bars[part], shrink[part], parts[part])
    _output(sheet, parts, outs, answer)
    sheet.foot(
        342,
        "A bar is e^(s - m), l the sum of the bars, o the mean of the values with the bars as "
        "weights (of one dimension). The order of the partitions does not matter.",
    )
    return (
        f"Partition 0 has m {ms[0]:.2f}, l {totals[0]:.2f} and output {outs[0]:.2f}; partition 1 "
        f"has m {ms[1]:.2f}, l {totals[1]:.2f} and output {outs[1]:.2f}. With the larger maximum "
        f"for both, the bars of partition 0 shrink by the factor {shrink[0]:.2f}. The sums are "
        f"then {parts[0]:.2f} and {parts[1]:.2f}. Weighted with them, the outputs give "
        f"{answer:.2f}, the same as without partitions."
    )


def _alone(sheet: Sheet, part: int, bars: Floats, numbers: dict[str, float]) -> None:
    """A partition with its own maximum, and the three numbers that it hands on."""
    top = 66 + 100 * part
    _bars(sheet, MARGIN + 11, top + 84, bars, COLORS[part])
    sheet.note(MARGIN + 148, top + 14, f"partition {part}")
    for place, (name, value) in enumerate(numbers.items()):
        y = top + 36 + 18 * place
        sheet.say(MARGIN + 148, y, f"{name} = {value:.2f}", ha="left", bold=True)
    sheet.arrow((MARGIN + WIDE + 3, top + 50), (RIGHT - 3, top + 50), width=2)


def _rescaled(sheet: Sheet, part: int, bars: Floats, shrink: float, total: float) -> None:
    """The same bars under the common maximum; their sum is the weight of the output."""
    top = 66 + 100 * part
    _bars(sheet, RIGHT + 11, top + 84, bars * shrink, COLORS[part])
    sheet.note(RIGHT + 148, top + 40, f"bars {style.TIMES} {shrink:.2f}")
    sheet.say(RIGHT + 148, top + 60, f"sum {total:.2f}", ha="left", bold=True)


def _output(sheet: Sheet, parts: Floats, outs: Floats, answer: float) -> None:
    """The weighted mean of both outputs."""
    sheet.arrow((RIGHT + WIDE / 2, 266), (RIGHT + WIDE / 2, 288), width=2)
    sums = " + ".join(f"{part:.2f} · {out:.2f}" for part, out in zip(parts, outs, strict=True))
    text = f"the output = ({sums}) / ({parts[0]:.2f} + {parts[1]:.2f}) = {answer:.2f}"
    sheet.node(Box(MARGIN, 290, INNER, 32), text, fill=LOOK, width=1.6)


def _bars(sheet: Sheet, left: float, base: float, heights: Floats, color: str) -> None:
    for place, height in enumerate(heights):
        box = Box(left + BAR * place, base - HIGH * height, BAR - 1, HIGH * height)
        sheet.rectangle(box, fill=color, width=0.7)
    sheet.line([left - 2, left + BAR * len(heights) + 1], [base] * 2)
