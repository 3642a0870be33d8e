"""Decode kernels against the memory's speed: one bar a kernel, two ceilings measured with it.

Drawn from the JSON that `python -m pagesim.kernels.bench --out …` writes. A bar is useful bytes per
second; the lines are a copy (read + written) and a read-only stream, on the same chip in the same
run. A kernel that mostly reads can exceed the copy, but hardly the stream.
"""

from collections.abc import Mapping

from pagesim.errors import UsageError
from pagesim.figures import style
from pagesim.figures.sheet import Sheet, blank
from pagesim.figures.sources import Facts, Plain, report
from pagesim.figures.style import MARGIN, Box, Picture

BAR, PITCH, GAP = 11.0, 15.0, 12.0
LABEL, VALUE = 170.0, 118.0
COPY, READ = "copy", "read only"
MADE_BY = "python -m pagesim.kernels.bench --out report.json"


@style.picture
def roofline(source: Plain, *, title: str | None = None) -> tuple[Picture, str]:
    """Draw a report of `kernels.bench`, to see how close the kernels come to the memory's speed.

    ``source`` is the report, or its JSON file. Bars are in terabytes of useful traffic per second.
    TypeError if ``source`` is not a report; UsageError for a dry run, whose numbers mean nothing,
    and for a report without rows.
    """
    data = report("roofline", source, ("chip", "copy_tb_s", "read_tb_s", "rows"), MADE_BY)
    if data.get("dry_run"):
        raise UsageError("this report is of a dry run: its figures mean nothing and are not drawn")
    if not data["rows"]:
        raise UsageError("this report has no rows: there is nothing to draw")
    return _draw(data, title or f"Paged decode on {data['chip']['name']}"), _words(data)


def _words(report: Facts) -> str:
    """The ceilings, then each case's kernels with their share of the copy."""
    sentences = [
        f"Useful memory traffic of decode kernels on {report['chip']['name']}, where a copy moves "
        f"{report['copy_tb_s']:.2f} and a read-only stream {report['read_tb_s']:.2f} terabytes a "
        "second."
    ]
    for case, rows in _cases(report).items():
        reached = [
            f"{row['name']} {row['tb_s']:.2f} ({row['of_copy']:.0%} of the copy)"
            for row in rows
            if not row["error"]
        ]
        sentences.append(f"{case}: {', '.join(reached) or 'nothing measured'}.")
    return " ".join(sentences)


def _cases(report: Facts) -> dict[str, list[Facts]]:
    """The rows by case, in the report's order."""
    found: dict[str, list[Facts]] = {}
    for row in report["rows"]:
        found.setdefault(row["case"], []).append(row)
    return found


def _draw(report: Facts, title: str) -> Picture:
    cases = _cases(report)
    names = list(dict.fromkeys(row["name"] for row in report["rows"]))
    top = MARGIN + 62.0
    height = top + sum(len(rows) * PITCH + 16.0 + GAP for rows in cases.values()) + MARGIN
    figure, sheet = blank(style.WIDTH, height, title)
    versions = ", ".join(f"{name} {found}" for name, found in report["versions"].items())
    made = f"{report['date'][:10]}, {versions}"
    sheet.write(MARGIN, MARGIN + 25, made, ha="left", color=style.MUTED)
    left, room = MARGIN + LABEL, style.WIDTH - 2 * MARGIN - LABEL - VALUE
    ceilings = {COPY: report["copy_tb_s"], READ: report["read_tb_s"]}
    reached = [row["tb_s"] for row in report["rows"] if not row["error"]]
    scale = room / max([*ceilings.values(), *reached])

    y = top
    for case, rows in cases.items():
        sheet.write(MARGIN, y + 6, case, size=9, ha="left", bold=True)
        y += 16
        for row in rows:
            color = style.color_of(names.index(row["name"]))
            _bar(sheet, row, Box(left, y, (row["tb_s"] or 0.0) * scale, BAR), color)
            y += PITCH
        y += GAP
    _ceilings(
        sheet, {name: left + rate * scale for name, rate in ceilings.items()}, ceilings, top, y
    )
    return figure


def _bar(sheet: Sheet, row: Facts, box: Box, color: str) -> None:
    """One kernel: its name, its bar, and its numbers."""
    y = box.y + box.h / 2
    sheet.write(box.x - 6, y, row["name"], ha="right")
    if row["error"]:
        reason = row["error"] if len(row["error"]) < 60 else f"{row['error'][:57]}…"
        sheet.write(box.x + 4, y, f"not measured: {reason}", ha="left", color=style.MUTED)
        return
    sheet.rectangle(box, fill=color)
    text = f"{row['tb_s']:.2f} TB/s, {row['of_copy']:.0%} of the copy"
    sheet.write(style.WIDTH - MARGIN, y, text, ha="right")


def _ceilings(
    sheet: Sheet, places: Mapping[str, float], rates: Mapping[str, float], top: float, bottom: float
) -> None:
    """The two lines; their labels are on two levels, because the lines are often close."""
    for level, (name, x) in enumerate(places.items()):
        dashes = (0, (4, 2)) if name == COPY else "-"
        start = top - 4 - 12 * (1 - level)
        sheet.axes.plot(
            [x, x], [start, bottom - GAP], color=style.INK, linewidth=1.2, linestyle=dashes
        )
        text = f"{name} {rates[name]:.2f} TB/s"
        sheet.write(x - 4, start - 1, text, ha="right", bold=True, pill=True)
