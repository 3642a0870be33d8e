"""`pagesim sweep`: a simulation for every cell of a grid, on all cores."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE, Answer, answering, blaming


@answering("pagesim sweep grid.json -o study.jsonl")
@click.argument("grid", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, required=True, help="A JSON line for every cell.")
def sweep(grid: Path, out: Path) -> Answer:
    """Simulate every cell of GRID, a JSON file, and print a table.

    GRID maps the keywords of pagesim.simulate to lists of values, and the cells are all
    combinations, a million at most; or it is a list of cells. A workload is the path of a trace, or
    a function of pagesim.workload and its keywords. What is not in GRID is as in pagesim simulate:

    \b
    {"workload": [{"name": "sharegpt_like", "n": 500, "seed": 0}],
     "policy": ["max", "paged", "v1"], "model": ["llama-3.1-8b"],
     "gpu": ["a100-80gb", "h100"], "tp": [1, 2]}

    An interrupted sweep continues from the file when it is run again, and retries failed cells.
    Exit code 0 when all cells have a result, 1 when some failed or have requests that wait forever,
    2 when GRID or the file cannot be used.
    """
    from pagesim.errors import UsageError
    from pagesim.studies.sweep import sweep as make
    from pagesim.studies.sweep.table import errors, stuck, table

    with blaming(grid, UsageError, TypeError):
        try:
            cells = json.loads(grid.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"not JSON: {error}") from error
        study = make(cells, out=out).run()
    results, failures = study.results, study.failures
    waiting = stuck(results)
    value = {"cells": len(study), "done": len(results), "failed": len(failures), "stuck": waiting}
    lines = [*table(results), *errors(failures)]
    if waiting:
        lines.append(f"requests wait forever in the cells {', '.join(map(str, waiting))}")
    lines.append(f"{len(results)} of {len(study)} cells done; {out} has a line for each.")
    return Answer(not failures and not waiting, "\n".join(lines), value | {"out": str(out)})
