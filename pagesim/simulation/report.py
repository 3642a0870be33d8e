"""Runs as tables: one row per request, or two runs side by side; as text, HTML and CSV."""

import csv
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pagesim.files import replacing
from pagesim.files.jsonl import JsonObject

HELD = ("token", "reserved", "internal")
"""The parts of the pool that requests hold."""

COUNTS = (
    *("requests", "finished", "ignored", "stuck", "preemptions", "hit_tokens"),
    *("refound_tokens", "lost_tokens", "loaded_tokens", "blocks_out", "blocks_in"),
    *("waited_s", "empty_steps", "iterations", "seconds", "output_tokens_per_s"),
)
"""What a summary has as a single number."""

Cell = str | float | None
"""Of a table."""


def save_csv(
    path: str | os.PathLike[str], head: Sequence[str], rows: Iterable[Sequence[Cell]]
) -> None:
    """Write the rows below a header. OSError if the file cannot be written."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    with replacing(path) as opened:
        opened.write(text.getvalue().encode())


def html_table(head: Sequence[str], rows: Sequence[Sequence[Cell]], note: str = "") -> str:
    """A table for a notebook; every cell is escaped."""

    def line(kind: str, cells: Sequence[Cell]) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(shown(c))}</{kind}>" for c in cells) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    note = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>{note}"


def shown(cell: Cell) -> str:
    """A cell as short text; empty for None."""
    return "" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, measure by measure: print it, or put it on the last line of a cell.

    ``rows`` are (measure, first, second, second divided by first); None where there is no number.
    """

    names: tuple[str, str]
    rows: tuple[tuple[str, float | None, float | None, float | None], ...]

    @property
    def head(self) -> tuple[str, ...]:
        """The names of the columns."""
        return ("", *self.names, "ratio")

    def __str__(self) -> str:
        lines = [self.head, *([name, *map(shown, cells)] for name, *cells in self.rows)]
        width = max(len(line[0]) for line in lines) + 2
        wide = max(12, 2 + max(map(len, self.names)))
        return "\n".join(
            f"{line[0]:<{width}}" + "".join(f"{cell:>{wide}}" for cell in line[1:])
            for line in lines
        )

    def _repr_html_(self) -> str:
        return html_table(self.head, self.rows)


def compare(
    names: tuple[str, str], first: Mapping[str, float | None], second: Mapping[str, float | None]
) -> Comparison:
    """What differs between the measures of two runs, as far as both have them.

    They are in percent of the pool, requests, tokens and seconds. A slot is held if a request has
    its block. Means are over the iterations, or "in time".
    """
    rows = []
    for name, a in first.items():
        if name in second:
            b = second[name]
            rows.append((name, a, b, b / a if a and b is not None else None))
    return Comparison(names, tuple(rows))


def measures(summary: JsonObject) -> dict[str, float | None]:
    """The numbers of a summary, or of a part of one, by name. TypeError for another value."""
    found = {name.replace("_", " "): summary[name] for name in COUNTS if name in summary}
    for of, clock in (("waste", ""), ("waste_in_time", " in time")):
        if of in summary:
            means = summary[of] or {}
            held = sum(means[part] for part in HELD) if means else None
            found |= {f"mean batch{clock}": means.get("batch"), f"% held{clock}": held}
    if "waste" in summary:
        found["% token"] = (summary["waste"] or {}).get("token")
    for name, values in summary["latency"].items():
        found |= {f"{name.replace('_', ' ')} {key}": values[key] for key in ("p50", "p99")}
    for name, value in found.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and abs(value) < sys.float_info.max):
            raise TypeError(f"{name} must be a number, not {value!r:.60}")
    return found
