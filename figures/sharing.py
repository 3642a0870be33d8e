"""What sharing blocks saves when a request has several outputs, beside the paper (Figure 15).

Samples of one prompt are simulated as they are. How a beam search branches the paper does not say:
there our bars rest on a model of our own, are drawn hatched, and are no reproduction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import matplotlib as mpl
from matplotlib.figure import Figure

from figures import chart, style
from figures.compare import Panel, Row, body_of, draw_panels
from pagesim.studies.paper import Comparison

PARALLEL, BEAM = "parallel sampling", "beam search"
# Points of percent: what tests/studies/test_paper.py holds samples of these data sets to.
WITHIN = {"alpaca": 3.0, "sharegpt": 3.0}
NAMES = {"alpaca": "Alpaca", "sharegpt": "ShareGPT"}
HOW_TO_READ = (
    "Bar: simulated. Diamond: published; whiskers, where there are some, are how far off our tests "
    "let the bar be, 3 points. Hatched: reported only, for the beam search here branches by a "
    "model of our own: every next candidate continues one of the present ones, any with the same "
    "probability. Of ShareGPT the paper gives the least and the most: here at 2 and 6 outputs."
)


def sharing(
    figures: Mapping[str, Comparison], *, title: str | None = None, notes: Iterable[str] = ()
) -> Figure:
    """Draw ``{dataset: studies.paper.figure_15(dataset)}``; ``notes`` stand under the picture.

    ValueError when there is no data set.
    """
    panels = _panels(figures)
    with mpl.rc_context(style.RC):
        figure, axes, y = chart.page(
            title or "What sharing saves when a request has several outputs",
            "Percent of the blocks that there would be without sharing",
            body_of(panels),
            [HOW_TO_READ, *notes],
        )
        draw_panels(axes, y, panels)
        return figure


def sharing_alt_text(figures: Mapping[str, Comparison], notes: Iterable[str] = ()) -> str:
    """The picture in words: percent saved for each number of outputs, and the published one."""
    said = [panel.words for panel in _panels(figures)]
    return " ".join(["Percent of the blocks saved by sharing.", *said, HOW_TO_READ, *notes])


def _panels(figures: Mapping[str, Comparison]) -> list[Panel]:
    """Samples first, on one scale for all data sets; then the beam searches, on another."""
    if not figures:
        raise ValueError("there is no data set to draw: give studies.paper.figure_15() of one")
    panels = []
    for kind, said in ((PARALLEL, PARALLEL), (BEAM, f"{BEAM}: reported only")):
        rows = {dataset: _rows(dataset, kind, found) for dataset, found in figures.items()}
        high = 1.1 * max(
            max(row.ours, row.published or 0) for some in rows.values() for row in some
        )
        panels += [
            Panel(f"{NAMES.get(dataset, dataset)}, {said}", some, high, style.SAVED, kind == BEAM)
            for dataset, some in rows.items()
        ]
    return panels


def _rows(dataset: str, kind: str, found: Comparison) -> list[Row]:
    return [
        Row(
            f"{outputs} outputs",
            ours,
            found.published[kind].get(outputs),
            within=WITHIN.get(dataset) if kind == PARALLEL else None,
        )
        for outputs, ours in found.ours[kind].items()
    ]
