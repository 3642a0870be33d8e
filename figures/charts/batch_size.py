"""How many requests run at once, beside what the paper measured (Figure 13).

On ShareGPT the queue is never empty, so memory alone decides. On Alpaca it was empty at times, so
the batch depends on the machine's speed: there the figure shows an ideal machine and one that is
too slow, and claims no bound.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pagesim.figures import page, style
from pagesim.figures.charts.compare import Panel, Row, draw_panels
from pagesim.figures.charts.memory_waste import POLICIES
from pagesim.figures.sources import Source, means_of, note_of, runs, serve
from pagesim.figures.style import Picture
from pagesim.studies.paper import Comparison

# Fractions of a published batch: the bounds for ShareGPT in tests/studies/test_paper.py.
WITHIN = {"max": 0.12, "pow2": 0.12, "oracle": 0.12, "paged": 0.20}
HEADINGS = {
    "sharegpt": "ShareGPT, all requests waiting from the start",
    "alpaca": "Alpaca, 30 requests a second: on two machines, no bound claimed",
}
HOW_TO_READ = (
    "Bar: simulated. Diamond: published; its whiskers show how far off our tests let the bar be, "
    "12 % for Orca and 20 % for vLLM. On Alpaca the solid bar is an ideal machine (the clock model "
    "pagesim.simulation.Roofline, nothing fitted); the hatched bar ends at a machine too slow ever "
    "to empty the queue. We make no claim about where a real machine lies between them."
)


@style.picture
def batch_size(
    source: Source,
    *,
    policies: Iterable[str] = POLICIES,
    title: str | None = None,
    notes: Iterable[str] = (),
    **options: Any,
) -> tuple[Picture, str]:
    """Draw how many requests run at once: saved memory makes this number larger.

    ``source`` is ``{"sharegpt": studies.paper.figure_13a(), "alpaca": figure_13b()}`` or one of the
    two, drawn beside the published batches. Or it is anything that `memory_waste` takes, with the
    same ``policies`` and ``options``. Bars are the mean batches over the steps, in requests.
    Errors: see `figures`. Source: Kwon et al., 2023, Figure 13.
    """
    if isinstance(source, Comparison):
        source = {"sharegpt": source}
    how: list[str] = []
    if isinstance(source, Mapping) and any(isinstance(c, Comparison) for c in source.values()):
        panels = [_panel(name, found) for name, found in source.items()]
        how = [HOW_TO_READ]
    else:
        found = runs("batch_size", source, serve(policies, options))
        rows = [Row(page.policy_name(name), means_of(run)["batch"]) for name, run in found.items()]
        panels = [Panel("Simulated or recorded", rows, _high(rows), style.MUTED)]
        notes = list(notes) or note_of(found)
    return draw_panels(
        title or "How many requests run at once",
        "Mean batch over the iterations, in requests",
        panels,
        [*how, *notes],
    )


def _high(rows: list[Row]) -> float:
    return 1.1 * max(max(row.ours, row.published or 0, row.upper or 0) for row in rows)


def _panel(name: str, found: Comparison) -> Panel:
    rows = []
    for policy, ours in found.ours.items():
        published = found.published.get(policy, {}).get("batch")
        bounded = name == "sharegpt" and published is not None
        within = WITHIN[policy] * (published or 0) if bounded else None
        called = page.policy_name(policy)
        rows.append(Row(called, ours["batch"], published, ours.get("saturated"), within))
    return Panel(HEADINGS.get(name, name), rows, _high(rows), style.MUTED)
