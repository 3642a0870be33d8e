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
    """Simulate every cell of GRID, a JSON file.

    GRID maps the keywords of pagesim.simulate to lists of values, and the cells are all
    combinations; or it is a list of cells. A workload is the path of a trace, or a function of
    pagesim.workload and its keywords:

    \b
    {"workload": [{"name": "sharegpt_like", "n": 500, "seed": 0}],
     "policy": ["max", "paged", "v1"]}

    An interrupted sweep continues from the file when it is run again, and retries failed cells.
    Exit code 0 when all cells have a result, 1 when some failed, 2 when GRID or the file cannot be
    used.
    """
    from pagesim.errors import UsageError
    from pagesim.studies.sweep import sweep as make

    with blaming(grid, UsageError, TypeError):
        try:
            cells = json.loads(grid.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"not JSON: {error}") from error
        study = make(cells, out=out).run()
    done, failed = len(study.results), len(study.failures)
    value = {"cells": len(study), "done": done, "failed": failed, "out": str(out)}
    return Answer(not failed, f"{study!r}\n{out} has a line for each.", value)
