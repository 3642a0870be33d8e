"""What the pool's slots are used for on average: a stacked bar per policy, as in Figure 2.

The filled bar is a simulation. The outline under it is what was published, for comparison edge by
edge. Beside them is what matters: how many requests run at once.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pagesim.figures import page, style
from pagesim.figures.page import Scale
from pagesim.figures.sheet import Sheet
from pagesim.figures.sources import Means, Source, means_of, note_of, parts_of, runs, serve
from pagesim.figures.style import Box, Picture
from pagesim.simulation.waste import CACHED_PARTS, PARTS
from pagesim.studies.paper import Comparison

NAME, BATCH = 84.0, 52.0
OURS, PUBLISHED, THIN_LINE, GAP = 22.0, 14.0, 12.0, 12.0
LEFT = page.MARGIN + NAME
BAR = page.ROOM - NAME - BATCH
_width = Scale(0, 100, 0, BAR)
SEEN = 0.05  # percent; less is not mentioned
SUBTITLE = "Percent of the cache's slots on average, and how many requests run at once"
HOW_TO_READ = (
    "Filled: simulated. In outline: published; what the paper calls external includes our external "
    "and free, and grey is what it does not break down."
)

POLICIES = ("max", "pow2", "oracle", "paged")
"""Those of the paper's Figure 2: what a trace of requests is simulated with."""


@style.picture
def memory_waste(
    source: Source,
    *,
    policies: Iterable[str] = POLICIES,
    published: Mapping[str, Means] | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
    **options: Any,
) -> tuple[Picture, str]:
    """Draw how the cache's slots are used on average, to see what a policy wastes.

    ``source`` is runs, a file or a trace (see `figures`). ``published`` has numbers to compare
    with, under the same names; parts may be missing. Bars are in percent of the slots, and batches
    in requests. Errors: see `figures`. Source: Kwon et al., 2023, Figure 2.
    """
    found = runs("memory_waste", source, serve(policies, options))
    rows = {name: means_of(run) for name, run in found.items()}
    if isinstance(source, Comparison):
        published = published or source.published
        notes = notes or (source.method, source.calibration, f"Published: {source.source}.")
    notes = list(notes) or note_of(found)
    figure = _draw(rows, published or {}, title or "Where the slots of the cache are", notes)
    return figure, _words(rows, published or {}, notes)


def _words(rows: Mapping[str, Means], published: Mapping[str, Means], notes: Iterable[str]) -> str:
    """Each policy's parts in percent and its batch, then the published ones."""
    sentences = ["Where the slots of the cache are, in percent, one stacked bar a policy."]
    for policy, row in rows.items():
        text = f"{page.policy_name(policy)}: {_row_text(row)}"
        theirs = _row_text(published.get(policy, {}))
        sentences.append(f"{text}; published {theirs}." if theirs else f"{text}.")
    return " ".join([*sentences, *notes])


def _row_text(row: Means) -> str:
    parts = [f"{name} {row[name]:.1f}" for name in CACHED_PARTS if row.get(name, 0) >= SEEN]
    batch = [f"{row['batch']:.1f} requests at once"] if "batch" in row else []
    return ", ".join(parts + batch)


def _draw(
    rows: Mapping[str, Means], published: Mapping[str, Means], title: str, notes: Iterable[str]
) -> Picture:
    thin = {policy: _thin(row) for policy, row in rows.items()}
    body = 18.0 + sum(
        OURS + PUBLISHED * (policy in published) + THIN_LINE * bool(thin[policy]) + GAP
        for policy in rows
    )
    how = [HOW_TO_READ] if published.keys() & rows.keys() else []
    figure, sheet, y = page.sheet(title, SUBTITLE, body - GAP, [*how, *notes])
    sheet.legend(LEFT, y, parts_of(rows.values()))
    right = page.WIDTH - page.MARGIN
    sheet.write(right, y + 4.5, "requests", ha="right", color=style.MUTED)
    y += 18
    for policy, row in rows.items():
        name = page.wrapped(page.policy_name(policy), (NAME - 6) / page.BOLD)
        for place, words in enumerate(name[:2]):
            at = y + OURS / 2 + page.LINE * (place - (len(name[:2]) - 1) / 2)
            sheet.write(page.MARGIN, at, words, ha="left", bold=True)
        sheet.write(right, y + OURS / 2, f"{row['batch']:.1f}", ha="right", bold=True)
        _bar(sheet, y, row)
        y += OURS
        if theirs := published.get(policy):
            sheet.write(page.MARGIN, y + 8, "published", ha="left", color=style.MUTED)
            _outline(sheet, y, theirs)
            if "batch" in theirs:
                batch = f"{theirs['batch']:.1f}"
                sheet.write(right, y + 8, batch, ha="right", color=style.MUTED)
            y += PUBLISHED
        if thin[policy]:
            text = f"simulated: {thin[policy]}" if theirs else thin[policy]
            sheet.write(LEFT + BAR, y + 7, text, ha="right", color=style.MUTED)
            y += THIN_LINE
        y += GAP
    return figure


def _thin(row: Means) -> str:
    """What to write under a bar: the parts that have no room for their number."""
    return ", ".join(
        f"{name} {row[name]:.1f}"
        for name in parts_of([row])
        if row[name] >= SEEN and _width(row[name]) < style.text_width(f"{row[name]:.1f}") + 4
    )


def _bar(sheet: Sheet, y: float, row: Means) -> None:
    x = LEFT
    for name in parts_of([row]):
        box = Box(x, y, _width(row[name]), OURS)
        sheet.part(box, name)
        sheet.number(box, f"{row[name]:.1f}", name)
        x += box.w
    sheet.rectangle(Box(LEFT, y, BAR, OURS), fill=None)


def _outline(sheet: Sheet, y: float, row: Means) -> None:
    """The published parts, hollow, in the colours of ours; what is not broken down is grey."""
    x = LEFT
    for name in PARTS:
        if name not in row:
            continue
        box = Box(x + 0.8, y + 2, _width(row[name]) - 1.6, PUBLISHED - 2)
        sheet.rectangle(box, edge=style.PARTS[name].color, width=1.6)
        sheet.write(*box.center, f"{row[name]:.1f}")
        x += _width(row[name])
    left = LEFT + BAR - x
    if left > _width(0.5):
        sheet.rectangle(Box(x, y + 2, left, PUBLISHED - 2), fill=style.HELD, edge=None)
