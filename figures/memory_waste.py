"""Where the slots of the pool are on average: a stacked bar a policy, as in the paper's Figure 2.

The filled bar is a simulation. Under it stands what was published, in outline, so that the two are
compared edge by edge. Beside them is what it is all about: how many requests run at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import chart, style
from figures.style import Box
from pagesim.simulation import Simulation
from pagesim.simulation.waste import PARTS, WasteLog

NAME, BATCH = 84.0, 52.0
OURS, PUBLISHED, THIN_LINE, GAP = 22.0, 14.0, 12.0, 12.0
LEFT = chart.MARGIN + NAME
BAR = chart.ROOM - NAME - BATCH
SEEN = 0.05  # percent; less is not even worth a word
SUBTITLE = "Percent of the cache's slots on average, and how many requests run at once"
HOW_TO_READ = (
    "Filled: simulated. In outline: published; what the paper calls external holds our external "
    "and free, and grey is what it does not divide."
)

Means = Mapping[str, float]


def means_of(source: Means | WasteLog | Simulation) -> dict[str, float]:
    """Percent of the pool for each part, and "batch": of a run, its log, or written down already.

    ValueError names a part that is missing.
    """
    if isinstance(source, Simulation):
        return source.waste.mean()
    if isinstance(source, WasteLog):
        return source.mean()
    missing = [name for name in (*PARTS, "batch") if name not in source]
    if missing:
        raise ValueError(f"the means have no {', '.join(missing)}: take WasteLog.mean()")
    return dict(source)


def memory_waste(
    policies: Mapping[str, Means | WasteLog | Simulation],
    *,
    published: Mapping[str, Means] | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> Figure:
    """Draw where the slots are under some policies, in the order given.

    ``policies`` maps a name to a run, its `WasteLog`, or the means in percent. ``published`` has,
    under the same names, what it is compared with; parts may be missing there. ``notes`` stand
    under the picture: what is calibrated, and the source. ValueError when there is no policy.
    """
    rows = _rows(policies)
    with mpl.rc_context(style.RC):
        return _draw(rows, published or {}, title or "Where the slots of the cache are", notes)


def memory_waste_alt_text(
    policies: Mapping[str, Means | WasteLog | Simulation],
    published: Mapping[str, Means] | None = None,
    notes: Iterable[str] = (),
) -> str:
    """The picture in words: each policy's parts in percent and its batch, published ones after."""
    sentences = ["Where the slots of the cache are, in percent, one stacked bar a policy."]
    for policy, row in _rows(policies).items():
        said = f"{chart.policy_name(policy)}: {_said(row)}"
        theirs = _said((published or {}).get(policy, {}))
        sentences.append(f"{said}; published {theirs}." if theirs else f"{said}.")
    return " ".join([*sentences, *notes])


def _rows(
    policies: Mapping[str, Means | WasteLog | Simulation],
) -> dict[str, dict[str, float]]:
    if not policies:
        raise ValueError("there is no policy to draw: give at least one run or its means")
    return {policy: means_of(source) for policy, source in policies.items()}


def _said(row: Means) -> str:
    parts = [f"{name} {row[name]:.1f}" for name in PARTS if row.get(name, 0) >= SEEN]
    batch = [f"{row['batch']:.1f} requests at once"] if "batch" in row else []
    return ", ".join(parts + batch)


def _draw(
    rows: Mapping[str, Means], published: Mapping[str, Means], title: str, notes: Iterable[str]
) -> Figure:
    thin = {policy: _thin(row) for policy, row in rows.items()}
    body = 18.0 + sum(
        OURS + PUBLISHED * (policy in published) + THIN_LINE * bool(thin[policy]) + GAP
        for policy in rows
    )
    how = [HOW_TO_READ] if published.keys() & rows.keys() else []
    figure, axes, y = chart.page(title, SUBTITLE, body - GAP, [*how, *notes])
    chart.legend(axes, LEFT, y, PARTS)
    right = chart.WIDTH - chart.MARGIN
    style.write(axes, right, y + 4.5, "requests", ha="right", color=style.MUTED)
    y += 18
    for policy, row in rows.items():
        name = chart.wrapped(chart.policy_name(policy), (NAME - 6) / chart.BOLD)
        for place, words in enumerate(name[:2]):
            at = y + OURS / 2 + chart.LINE * (place - (len(name[:2]) - 1) / 2)
            style.write(axes, chart.MARGIN, at, words, ha="left", bold=True)
        style.write(axes, right, y + OURS / 2, f"{row['batch']:.1f}", ha="right", bold=True)
        _bar(axes, y, row)
        y += OURS
        if theirs := published.get(policy):
            style.write(axes, chart.MARGIN, y + 8, "published", ha="left", color=style.MUTED)
            _outline(axes, y, theirs)
            if "batch" in theirs:
                batch = f"{theirs['batch']:.1f}"
                style.write(axes, right, y + 8, batch, ha="right", color=style.MUTED)
            y += PUBLISHED
        if thin[policy]:
            said = f"simulated: {thin[policy]}" if theirs else thin[policy]
            style.write(axes, LEFT + BAR, y + 7, said, ha="right", color=style.MUTED)
            y += THIN_LINE
        y += GAP
    return figure


def _width(percent: float) -> float:
    return percent / 100 * BAR


def _thin(row: Means) -> str:
    """What to write under a bar: the parts that are there and have no room for their number."""
    return ", ".join(
        f"{name} {row[name]:.1f}"
        for name in PARTS
        if row[name] >= SEEN and _width(row[name]) < style.text_width(f"{row[name]:.1f}") + 4
    )


def _bar(axes: Axes, y: float, row: Means) -> None:
    x = LEFT
    for name in PARTS:
        box = Box(x, y, _width(row[name]), OURS)
        style.part(axes, box, name)
        chart.number(axes, box, f"{row[name]:.1f}", name)
        x += box.w
    style.rectangle(axes, Box(LEFT, y, BAR, OURS), fill=None)


def _outline(axes: Axes, y: float, row: Means) -> None:
    """The published parts, hollow, in the colours of ours; what is not divided is grey."""
    x = LEFT
    for name in PARTS:
        if name not in row:
            continue
        box = Box(x + 0.8, y + 2, _width(row[name]) - 1.6, PUBLISHED - 2)
        style.rectangle(axes, box, edge=style.PARTS[name].color, width=1.6)
        style.write(axes, *box.center, f"{row[name]:.1f}")
        x += _width(row[name])
    left = LEFT + BAR - x
    if left > _width(0.5):
        style.rectangle(axes, Box(x, y + 2, left, PUBLISHED - 2), fill=style.HELD, edge=None)
