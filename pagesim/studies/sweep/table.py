"""Simulated cells as a table: what differs between them, and what came out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pagesim.simulation.report import shown
from pagesim.studies.sweep.cells import CellResult

ROWS = 40
"""The most rows of a table; the file of the sweep has all."""

MEASURES = {
    "finished": ("finished",),
    "ignored": ("ignored",),
    "stuck": ("stuck",),
    "preempted": ("preemptions",),
    "tokens/s": ("output_tokens_per_s",),
    "batch": ("waste", "batch"),
    "% token": ("waste", "token"),
    "TTFT p50": ("latency", "time_to_first_token", "p50"),
    "TTFT p99": ("latency", "time_to_first_token", "p99"),
    "ITL p99": ("latency", "inter_token", "p99"),
}
"""The columns: where each is in a run's summary. Times are in seconds."""


def table(results: Sequence[CellResult]) -> list[str]:
    """A line for every cell that has a value, below the names of the columns."""
    if not results:
        return []
    names = _varied(results)
    rows = [("cell", *names, *MEASURES)]
    for one in results[:ROWS]:
        cells = (_short(one.cell.get(name)) for name in names)
        rows.append((str(one.index), *cells, *(_measure(one.value, p) for p in MEASURES.values())))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
    return [*lines, f"and {more} more"] if (more := len(results) - ROWS) > 0 else lines


def errors(failures: Iterable[CellResult]) -> list[str]:
    """Each error once, in a line, with how many cells had it and the first of them."""
    same: dict[str, list[int]] = {}
    for one in failures:
        words = " ".join((one.error or "").split())
        same.setdefault(re.sub(r"^pagesim[\w.]*: ", "", words), []).append(one.index)
    return [
        f"cell {at[0]}" + (f" and {len(at) - 1} more" if at[1:] else "") + f": {words}"
        for words, at in same.items()
    ]


def stuck(results: Iterable[CellResult]) -> list[int]:
    """The cells in which requests wait forever."""
    return [one.index for one in results if one.value and one.value.get("stuck")]


def _varied(results: Sequence[CellResult]) -> list[str]:
    """The names whose values are not the same in all cells."""
    names = dict.fromkeys(name for one in results for name in one.cell)
    return [name for name in names if len({_short(one.cell.get(name)) for one in results}) > 1]


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(str(v) if k == "name" else f"{k}={v}" for k, v in value.items())
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _measure(value: Any, path: tuple[str, ...]) -> str:
    for name in path:
        value = value and value.get(name)
    return "-" if value is None else shown(value)
