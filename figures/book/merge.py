"""Chapters 3 and on long sequences: partial answers that become one, and one that starts early."""

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from pagesim.figures import style
from pagesim.figures.book.kit import COLORS, LOOK, MARGIN, arrow, drawing, note, panel, say
from pagesim.figures.page import line
from pagesim.figures.style import Box

SCORES = np.array(
    [[1.0, 0.2, 1.6, 0.6, 1.2, 0.4, 0.9, 1.4], [0.4, 2.6, 0.9, 1.8, 0.2, 1.1, 2.0, 0.7]]
)
VALUES = np.array(
    [[0.2, 0.9, 0.4, 0.1, 0.5, 0.3, 0.8, 0.6], [1.0, 0.4, 0.2, 0.7, 0.3, 0.6, 0.9, 0.8]]
)
HIGH, BAR = 64.0, 14.0
Floats = NDArray[np.float64]


@drawing("Two partitions: each attends alone; l · e^m says how much its output weighs", 330)
def merge(axes: Axes) -> str:
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
    panel(axes, Box(MARGIN, 40, 230, 240), "each alone, its own maximum")
    panel(axes, Box(258, 40, 190, 240), "one maximum for both")
    for part in range(2):
        alone = f"m = {ms[part]:.2f}", f"l = {totals[part]:.2f}", f"o = {outs[part]:.2f}"
        _alone(axes, part, bars[part], alone)
        _rescaled(axes, part, bars[part], shrink[part], parts[part])
    _answer(axes, parts, outs, answer)
    note(
        axes,
        MARGIN,
        302,
        "A bar is e^(s - m), l the sum of the bars, o the mean of the values "
        "with the bars as weights\n(of one dimension). The order of the partitions does not "
        "matter.",
    )
    return (
        f"Partition 0 has m {ms[0]:.2f}, l {totals[0]:.2f} and output {outs[0]:.2f}; partition 1 "
        f"has m {ms[1]:.2f}, l {totals[1]:.2f} and output {outs[1]:.2f}. With the larger maximum "
        f"for both, the bars of partition 0 shrink to {shrink[0]:.2f}; the sums are then "
        f"{parts[0]:.2f} and {parts[1]:.2f}, and these are the weights: {answer:.2f}, the same as "
        "without partitions."
    )


def _alone(axes: Axes, part: int, bars: Floats, texts: tuple[str, ...]) -> None:
    """A partition with its own maximum, and the three numbers that it hands on."""
    top = 62 + 108 * part
    _bars(axes, MARGIN + 12, top + 74, bars, COLORS[part])
    note(axes, MARGIN + 136, top + 8, f"partition {part}")
    for place, text in enumerate(texts):
        say(axes, MARGIN + 136, top + 26 + 16 * place, text, ha="left", bold=True)
    arrow(axes, (MARGIN + 232, top + 42), (256, top + 42), width=2)


def _rescaled(axes: Axes, part: int, bars: Floats, shrink: float, weight: float) -> None:
    """The same bars under the common maximum; their sum is the weight of the output."""
    top, end = 62 + 108 * part, 158 + 5 * (2 * part - 1)
    _bars(axes, 270, top + 74, bars * shrink, COLORS[part])
    note(axes, 394, top + 26, f"{style.TIMES} {shrink:.2f}")
    say(axes, 394, top + 44, f"{weight:.2f}", ha="left", bold=True)
    arrow(axes, (450, top + 42), (464, top + 42), (464, end), (478, end), width=2)


def _answer(axes: Axes, parts: Floats, outs: Floats, answer: float) -> None:
    """The weighted mean of both outputs."""
    style.rectangle(axes, Box(480, 116, 156, 84), fill=LOOK, width=1.6)
    ink = style.ink_on(LOOK)
    sums = [f"{part:.2f} · {out:.2f}" for part, out in zip(parts, outs, strict=True)]
    say(axes, 558, 132, "the output", color=ink)
    say(axes, 558, 152, f"({' + '.join(sums)})", color=ink, size=9.5)
    say(axes, 558, 168, f"/ ({parts[0]:.2f} + {parts[1]:.2f})", color=ink, size=9.5)
    say(axes, 558, 187, f"= {answer:.2f}", color=ink, bold=True)


def _bars(axes: Axes, left: float, base: float, heights: Floats, color: str) -> None:
    for place, height in enumerate(heights):
        x = left + BAR * place
        style.rectangle(
            axes, Box(x, base - HIGH * height, BAR - 1, HIGH * height), fill=color, width=0.7
        )
    line(axes, [left - 2, left + BAR * len(heights) + 1], [base] * 2)
