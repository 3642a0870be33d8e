"""Chapter 3: attention page by page, with three running numbers."""

import numpy as np
from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import COLORS, MARGIN, drawing, note, say
from pagesim.figures.page import line
from pagesim.figures.style import MUTED, PAPER, TIMES, Box

PAGES = np.array(
    [[1.0, 0.2, 1.5, 0.6], [0.4, 1.2, 0.3, 0.9], [2.6, 0.8, 1.7, 0.2], [1.2, 2.0, 0.5, 3.2]]
)
"""Scores q · k of four pages of four tokens; the values of one dimension are below."""
VALUES = np.array(
    [[0.2, 0.9, 0.4, 0.1], [0.5, 0.3, 0.8, 0.6], [1.0, 0.4, 0.2, 0.7], [0.3, 0.6, 0.9, 0.8]]
)
WIDE, BASE, HIGH, BAR = 156.0, 176.0, 92.0, 8.0


def states() -> list[tuple[float, float, float]]:
    """(m, l, a) after each page, from what was before and the page alone."""
    m, total, mixed, found = -np.inf, 0.0, 0.0, []
    for scores, values in zip(PAGES, VALUES, strict=True):
        new = max(m, scores.max())
        shrink, weights = np.exp(m - new), np.exp(scores - new)
        total = total * shrink + weights.sum()
        mixed = mixed * shrink + weights @ values
        m = new
        found.append((float(m), float(total), float(mixed)))
    return found


@drawing("Online softmax: when a page raises the maximum, everything so far shrinks", 330)
def online_softmax(axes: Axes) -> str:
    """Bars e^(s - m) after each of four pages, with m, l and a below."""
    found, old = states(), -np.inf
    for page, (m, total, mixed) in enumerate(found):
        left = MARGIN + WIDE * page
        say(axes, left + 4, 48, f"after page {page}", ha="left", bold=True)
        _bars(axes, left + 8, page, m, old)
        for place, (name, value) in enumerate((("m", m), ("l", total), ("a", mixed))):
            say(axes, left + 22, 204 + 18 * place, name, bold=True)
            say(axes, left + 36, 204 + 18 * place, f"= {value:.2f}", ha="left")
        if m > old and page:
            text = f"m rises: so far {TIMES} {np.exp(old - m):.2f}"
            note(axes, left + 4, 64, text, color=style.INK)
        elif page:
            note(axes, left + 4, 64, f"m stays: so far {TIMES} 1")
        old = m
    rows = {
        "m": "the largest score s so far; a bar is e^(s - m)",
        "l": "the sum of the bars",
        "a": f"the sum of bar {TIMES} value, here of one of the dimensions",
    }
    for place, (name, text) in enumerate(rows.items()):
        note(axes, MARGIN + 4, 272 + 15 * place, name, bold=True)
        note(axes, MARGIN + 20, 272 + 15 * place, text)
    m, total, mixed = found[-1]
    say(axes, 636, 279, "the output", ha="right")
    say(axes, 636, 297, f"a / l = {mixed / total:.2f}", ha="right", bold=True, size=12)
    flat, values = np.exp(PAGES - PAGES.max()).ravel(), VALUES.ravel()
    assert np.isclose(mixed / total, flat @ values / flat.sum())
    steps = "; ".join(
        f"after page {i} m {m:.1f}, l {t:.2f}, a {a:.2f}" for i, (m, t, a) in enumerate(found)
    )
    return (
        "Bars e to the power of (score minus m), one a token, after each of four pages. Pages 2 "
        f"and 3 raise m, and all earlier bars shrink by the same factor. {steps}. The output is a "
        f"/ l, {mixed / total:.2f}, the same as with all scores at once."
    )


def _bars(axes: Axes, left: float, page: int, m: float, old: float) -> None:
    for one in range(page + 1):
        for place, score in enumerate(PAGES[one]):
            x = left + (BAR + 0.6) * (4 * one + place)
            if one < page and m > old:
                ghost = HIGH * np.exp(score - old)
                box = Box(x, BASE - ghost, BAR, ghost)
                style.rectangle(axes, box, fill=PAPER, edge=MUTED, width=0.7, dashed=True)
            height = HIGH * np.exp(score - m)
            style.rectangle(axes, Box(x, BASE - height, BAR, height), fill=COLORS[one], width=0.7)
    line(axes, [left - 3, left + 138], [BASE] * 2)
