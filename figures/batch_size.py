"""How many requests run at once, beside what the paper measured (Figure 13).

On ShareGPT the queue is never empty, so memory alone decides. On Alpaca it was empty at times, and
then the batch depends on how fast the machine is: there we give what an ideal machine and one that
is too slow would show, and claim no bound.
"""

from __future__ import annotations

from collections.abc import Iterable

import matplotlib as mpl
from matplotlib.figure import Figure

from figures import chart, style
from figures.compare import Panel, Row, body_of, draw_panels
from pagesim.studies.paper import Comparison

# Parts of a published batch: what tests/studies/test_paper.py holds our ShareGPT runs to.
WITHIN = {"max": 0.12, "pow2": 0.12, "oracle": 0.12, "paged": 0.20}
SHAREGPT = "ShareGPT, all requests waiting from the start"
ALPACA = "Alpaca, 30 requests a second: on two machines, no bound claimed"
HOW_TO_READ = (
    "Bar: simulated. Diamond: published; its whiskers are how far off our tests let the bar be, "
    "12 % for Orca and 20 % for vLLM. On Alpaca the full bar is an ideal machine (the clock model "
    "pagesim.simulation.Roofline, nothing fitted), and on to the end of the hatched one is a "
    "machine too slow to ever empty the queue; where between them a real one is, we do not claim."
)


def batch_size(
    sharegpt: Comparison,
    alpaca: Comparison,
    *,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> Figure:
    """Draw `studies.paper.figure_13a()` and `figure_13b()`; ``notes`` stand under the picture."""
    panels = _panels(sharegpt, alpaca)
    with mpl.rc_context(style.RC):
        figure, axes, y = chart.page(
            title or "How many requests run at once",
            "Mean batch over the iterations, in requests",
            body_of(panels),
            [HOW_TO_READ, *notes],
        )
        draw_panels(axes, y, panels)
        return figure


def batch_size_alt_text(sharegpt: Comparison, alpaca: Comparison, notes: Iterable[str] = ()) -> str:
    """The picture in words: each policy's batch on both data sets, and the published one."""
    said = [panel.words for panel in _panels(sharegpt, alpaca)]
    return " ".join(["How many requests run at once.", *said, HOW_TO_READ, *notes])


def _panels(sharegpt: Comparison, alpaca: Comparison) -> list[Panel]:
    return [_panel(SHAREGPT, sharegpt, bounded=True), _panel(ALPACA, alpaca, bounded=False)]


def _panel(heading: str, found: Comparison, *, bounded: bool) -> Panel:
    rows = []
    for policy, ours in found.ours.items():
        published = found.published.get(policy, {}).get("batch")
        within = WITHIN[policy] * published if bounded and published is not None else None
        name = chart.policy_name(policy)
        rows.append(Row(name, ours["batch"], published, ours.get("saturated"), within))
    high = max(max(row.ours, row.published or 0, row.upper or 0) for row in rows)
    return Panel(heading, rows, 1.1 * high, style.MUTED)
