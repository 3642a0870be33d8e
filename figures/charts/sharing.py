"""What sharing blocks saves when a request has several outputs, beside the paper (Figure 15).

Samples of one prompt are simulated directly. The paper does not say how a beam search branches:
there our bars rest on a model of our own, are drawn hatched, and do not reproduce the paper's.
"""

from collections.abc import Iterable, Mapping

from pagesim.errors import UsageError
from pagesim.figures import style
from pagesim.figures.charts.compare import Panel, Row, draw_panels
from pagesim.figures.sources import Run, Source, runs
from pagesim.figures.style import Picture
from pagesim.simulation import Simulation
from pagesim.studies.paper import Comparison
from pagesim.timeline import Timeline
from pagesim.workload import Workload

PARALLEL, BEAM = "parallel sampling", "beam search"
# Percentage points: the bounds for samples in tests/studies/test_paper.py.
WITHIN = {"alpaca": 3.0, "sharegpt": 3.0}
NAMES = {"alpaca": "Alpaca", "sharegpt": "ShareGPT"}
HOW_TO_READ = (
    "Bar: simulated. Diamond: published; whiskers show how far off our tests let the bar be, 3 "
    "points. Hatched: reported only, because the beam search here branches by a model of our own: "
    "every next candidate continues one of the present ones, each with the same probability. For "
    "ShareGPT the paper gives the smallest and the largest saving: here at 2 and 6 outputs."
)


@style.picture
def sharing(
    source: Source, *, title: str | None = None, notes: Iterable[str] = ()
) -> tuple[Picture, str]:
    """Draw what sharing blocks saves when a request has several outputs.

    ``source`` is ``{dataset: studies.paper.figure_15(dataset)}`` or one of its values, drawn beside
    the published numbers. Or it is a Timeline, its file, a Simulation with record=True, or several
    of these in a list or by name; then the mean over all steps is drawn. Bars are in percent of the
    blocks needed without sharing. Errors: see `figures`. Source: Kwon et al., 2023, Figure 15.
    """
    if isinstance(source, Comparison):
        source = {source.title: source}
    how: list[str] = []
    if isinstance(source, Mapping) and any(isinstance(c, Comparison) for c in source.values()):
        panels, how = _panels(source), [HOW_TO_READ]
    else:
        rows = [
            Row(name, _saved(name, run)) for name, run in runs("sharing", source, _none).items()
        ]
        high = 1.1 * max(1.0, *(row.ours for row in rows))
        panels = [Panel("Recorded runs", rows, high, style.SAVED)]
    return draw_panels(
        title or "What sharing saves when a request has several outputs",
        "Percent of the blocks needed without sharing",
        panels,
        [*how, *notes],
    )


def _none(workload: Workload) -> dict[str, Run]:
    raise UsageError(
        f"{workload.name} is a trace of requests: only a recorded run knows which of them share "
        "blocks: pagesim.simulate(…, samples=2, record=True)"
    )


def _saved(name: str, run: Run) -> float:
    """Percent of the table entries that need no block of their own, over all steps."""
    timeline = run.timeline if isinstance(run, Simulation) else run
    if not isinstance(timeline, Timeline):
        raise UsageError(f"{name!r} recorded no pages: simulate(…, record=True)")
    used = named = 0
    for step in range(len(timeline) + 1):
        blocks = [b for table in timeline.at(step).tables.values() for b in table.block_ids]
        used, named = used + len(set(blocks)), named + len(blocks)
    return 100 * (named - used) / named if named else 0.0


def _panels(figures: Mapping[str, Comparison]) -> list[Panel]:
    """Samples first, on one scale for all data sets; then the beam searches, on another."""
    panels = []
    for kind, note in ((PARALLEL, ""), (BEAM, ": reported only")):
        rows = {dataset: _rows(dataset, kind, found) for dataset, found in figures.items()}
        high = 1.1 * max(
            max(row.ours, row.published or 0) for some in rows.values() for row in some
        )
        for dataset, some in rows.items():
            heading = f"{NAMES.get(dataset, dataset)}, {kind}{note}"
            panels.append(Panel(heading, some, high, style.SAVED, kind == BEAM))
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
