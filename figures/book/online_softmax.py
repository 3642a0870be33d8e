"""Chapter 3: attention block by block, with three running numbers."""

import numpy as np

from pagesim.figures import style
from pagesim.figures.book.kit import COLORS, MARGIN, Sheet, drawing
from pagesim.figures.style import MUTED, PAPER, TIMES, Box

SCORES = np.array(
    [[1.0, 0.2, 1.5, 0.6], [0.4, 1.2, 0.3, 0.9], [2.6, 0.8, 1.7, 0.2], [1.2, 2.0, 0.5, 3.2]]
)
"""Scores q · k of four blocks of four tokens; the values of one dimension are below."""
VALUES = np.array(
    [[0.2, 0.9, 0.4, 0.1], [0.5, 0.3, 0.8, 0.6], [1.0, 0.4, 0.2, 0.7], [0.3, 0.6, 0.9, 0.8]]
)
WIDE, BASE, HIGH, BAR = 130.0, 192.0, 98.0, 7.0
State = tuple[float, float, float]


def states() -> list[State]:
    """(m, l, a) after each block, from what was before and the block alone."""
    m, total, mixed, found = -np.inf, 0.0, 0.0, []
    for scores, values in zip(SCORES, VALUES, strict=True):
        new = max(m, scores.max())
        shrink, weights = np.exp(m - new), np.exp(scores - new)
        total = total * shrink + weights.sum()
        mixed = mixed * shrink + weights @ values
        m = new
        found.append((float(m), float(total), float(mixed)))
    return found


@drawing("Online softmax: when a block raises the maximum, everything so far shrinks", 352)
def online_softmax(sheet: Sheet) -> str:
    """Bars e^(s - m) after each of four blocks, with m, l and a below."""
    found, old = states(), -np.inf
    for block, state in enumerate(found):
        _after(sheet, block, state, old)
        old, *_ = state
    _meanings(sheet)
    _, total, mixed = found[-1]
    sheet.say(528, 297, "the output", ha="right")
    sheet.say(528, 318, f"a / l = {mixed / total:.2f}", ha="right", bold=True, size=13)
    flat, values = np.exp(SCORES - SCORES.max()).ravel(), VALUES.ravel()
    assert np.isclose(mixed / total, flat @ values / flat.sum())
    steps = "; ".join(
        f"after block {i}: m {m:.2f}, l {t:.2f}, a {a:.2f}" for i, (m, t, a) in enumerate(found)
    )
    return (
        "Bars e to the power of (score minus m), one a token, after each of four blocks. Blocks 2 "
        f"and 3 raise m, and all earlier bars shrink by the same factor. {steps}. The output is a "
        f"/ l, {mixed / total:.2f}, the same as with all scores at once."
    )


def _after(sheet: Sheet, block: int, state: State, old: float) -> None:
    """Bars and running numbers after a block; ``old`` is the maximum before it."""
    left, (m, *_) = MARGIN + WIDE * block, state
    sheet.say(left + 2, 46, f"after block {block}", ha="left", bold=True)
    _bars(sheet, left + 3, block, m, old)
    for y, name, value in zip((216, 235, 254), "mla", state, strict=True):
        sheet.say(left + 16, y, name, bold=True)
        sheet.say(left + 30, y, f"= {value:.2f}", ha="left")
    if m > old and block:
        text = f"m rises: earlier\nbars {TIMES} {np.exp(old - m):.2f}"
        sheet.note(left + 2, 70, text, color=style.INK)
    elif block:
        sheet.note(left + 2, 63, "m stays")


def _meanings(sheet: Sheet) -> None:
    """What the running numbers are."""
    rows = {
        "m": "the largest score s so far; a bar is e^(s - m)",
        "l": "the sum of the bars",
        "a": f"the sum of bar {TIMES} value, here of one dimension",
    }
    for place, (name, text) in enumerate(rows.items()):
        sheet.say(MARGIN + 8, 290 + 18 * place, name, bold=True)
        sheet.note(MARGIN + 24, 290 + 18 * place, text)


def _bars(sheet: Sheet, left: float, block: int, m: float, old: float) -> None:
    """The bars of all blocks so far, dashed as they were where they have shrunk."""
    for one in range(block + 1):
        for place, score in enumerate(SCORES[one]):
            x = left + (BAR + 0.4) * (4 * one + place)
            if one < block and m > old:
                ghost = HIGH * np.exp(score - old)
                box = Box(x, BASE - ghost, BAR, ghost)
                sheet.rectangle(box, fill=PAPER, edge=MUTED, width=0.7, dashed=True)
            height = HIGH * np.exp(score - m)
            sheet.rectangle(Box(x, BASE - height, BAR, height), fill=COLORS[one], width=0.7)
    sheet.line([left - 3, left + 120], [BASE] * 2)
