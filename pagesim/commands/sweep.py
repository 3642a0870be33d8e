"""`pagesim sweep`: a simulation for every cell of a grid, on all cores."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pagesim.commands.common import (
    INPUT_FILE,
    OUTPUT_FILE,
    Answer,
    BadInput,
    check_out,
    example,
    finish,
    with_file_name,
)


@click.command(epilog=example("pagesim sweep grid.json -o study.jsonl"))
@click.argument("grid", type=INPUT_FILE)
@click.option("-o", "--out", type=OUTPUT_FILE, required=True, help="A JSON line for every cell.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def sweep(context: click.Context, /, grid: Path, out: Path, as_json: bool) -> None:
    """Simulate every cell of GRID, a JSON file.

    GRID maps the keywords of pagesim.simulate to lists of values, and the cells are all
    combinations; or it is a list of cells. A workload is the path of a trace, or a function of
    pagesim.workload and its keywords:

    \b
    {"workload": [{"name": "sharegpt_like", "n": 500, "seed": 0}],
     "policy": ["max", "paged"]}

    Broken off and begun again, it goes on from the file, and tries failed cells again. Exit code 0
    when all cells have a result, 1 when some failed, 2 when GRID or the file cannot be used.
    """
    from pagesim.errors import UsageError
    from pagesim.studies.sweep import sweep as make

    try:
        cells = json.loads(grid.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{grid}: not JSON: {error}") from error
    if not out.exists():  # the sweep itself refuses a file that is no sweep's
        check_out("--out", out, grid)
    try:
        study = make(cells, out=out).run()
    except (UsageError, TypeError, OSError) as error:
        raise BadInput(with_file_name(grid, error)) from error
    done, failed = len(study.results), len(study.failures)
    value = {"cells": len(study), "done": done, "failed": failed, "out": str(out)}
    finish(context, Answer(not failed, f"{study!r}\n{out} has a line for each.", value), as_json)
