"""`pagesim sweep`: a simulation for every cell of a grid, on all cores."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE, Answer, answering, blaming
from pagesim.files.jsonl import Json

if TYPE_CHECKING:
    from pagesim.studies.cells import CellResult

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


@answering("pagesim sweep grid.json -o study.jsonl")
@click.argument("grid", type=INPUT_FILE)
@click.option(
    "-o",
    "--out",
    type=OUTPUT_FILE,
    required=True,
    help="The file to write: one JSON line per cell.",
)
def sweep(grid: Path, out: Path) -> Answer:
    """Simulate every combination in a grid, and print a table.

    GRID is a JSON file that maps the keywords of pagesim.simulate to lists of values. Every
    combination of the values is a cell; a grid has at most a million. GRID may also list the cells
    themselves. A workload is the path of a trace, or a function of pagesim.workload and its
    keywords. Keywords not in GRID have the defaults of pagesim simulate. For example:

    \b
    {"workload": [{"name": "sharegpt_like", "n": 500, "seed": 0}],
     "policy": ["max", "paged", "v1"], "model": ["llama-3.1-8b"],
     "gpu": ["a100-80gb", "h100"], "tp": [1, 2]}

    If a sweep is interrupted, the same command continues from the file given with --out and retries
    the cells that failed. Exit code 0 when all cells have a result, 1 when some cells failed or
    have requests that wait forever, 2 when GRID or --out cannot be used.
    """
    from pagesim.errors import UsageError
    from pagesim.studies.sweep import sweep as make

    with blaming(grid, UsageError, TypeError):
        try:
            cells = json.loads(grid.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"not JSON: {error}") from error
        study = make(cells, out=out).run()
    results, failures = study.results, study.failures
    waiting = [one.index for one in results if one.value and one.value.get("stuck")]
    value = {"cells": len(study), "done": len(results), "failed": len(failures), "stuck": waiting}
    lines = [*_table(results), *_errors(failures)]
    if waiting:
        lines.append(f"requests wait forever in the cells {', '.join(map(str, waiting))}")
    lines.append(f"{len(results)} of {len(study)} cells done; {out} has a line for each.")
    return Answer(not failures and not waiting, "\n".join(lines), value | {"out": str(out)})


def _table(results: Sequence[CellResult]) -> list[str]:
    """A line for every cell that has a value, below the names of what varies and of the columns."""
    if not results:
        return []
    given = dict.fromkeys(name for one in results for name in one.cell)
    names = [name for name in given if len({_short(one.cell.get(name)) for one in results}) > 1]
    rows = [("cell", *names, *MEASURES)]
    for one in results[:ROWS]:
        cells = (_short(one.cell.get(name)) for name in names)
        rows.append((str(one.index), *cells, *(_measure(one.value, p) for p in MEASURES.values())))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
    return [*lines, f"and {more} more"] if (more := len(results) - ROWS) > 0 else lines


def _errors(failures: Iterable[CellResult]) -> list[str]:
    """Each error once, in a line, with how many cells had it and the first of them."""
    same: dict[str, list[int]] = {}
    for one in failures:
        words = " ".join((one.error or "").split())
        same.setdefault(re.sub(r"^pagesim[\w.]*: ", "", words), []).append(one.index)
    return [
        f"cell {at[0]}" + (f" and {len(at) - 1} more" if at[1:] else "") + f": {words}"
        for words, at in same.items()
    ]


def _short(value: Json) -> str:
    if isinstance(value, dict):
        return " ".join(str(v) if k == "name" else f"{k}={v}" for k, v in value.items())
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _measure(value: Any, path: tuple[str, ...]) -> str:
    from pagesim.simulation.report import shown

    for name in path:
        value = value and value.get(name)
    return "-" if value is None else shown(value)
