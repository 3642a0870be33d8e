"""Summarizes a request file for :mod:`pagesim.workload.fitted`.

``python -m pagesim.workload.fit trace.csv --name mine --source "…" --licence "…" -o mine.json``
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from pagesim.commands.common import (
    INPUT_FILE,
    OUTPUT_FILE,
    BadInput,
    blaming,
    check_out,
    naming,
)
from pagesim.files import replacing
from pagesim.workload.files import load
from pagesim.workload.fitted import Summary
from pagesim.workload.request import Workload
from pagesim.workload.rows import WorkloadError

CELLS_PER_OCTAVE = 4
"""How fine the table is: each length is known to within a factor of 2 ** (1 / 4), about 19 %."""


def summarize(workload: Workload, name: str, source: str, licence: str) -> Summary:
    """The table of lengths of ``workload``; the same requests always give the same one.

    The cells end where the longest lengths do, so no draw is longer than the data.
    """
    prompt_edges = _edges([request.prompt_tokens for request in workload])
    output_edges = _edges([request.output_tokens for request in workload])
    cells = Counter(
        (_cell(prompt_edges, request.prompt_tokens), _cell(output_edges, request.output_tokens))
        for request in workload
    )
    pace = workload.requests_per_s
    return Summary(
        name=name,
        source=source,
        licence=licence,
        requests=len(workload),
        requests_per_s=round(pace, 4) if pace < math.inf else None,
        mean_prompt=round(workload.mean_prompt, 4),
        mean_output=round(workload.mean_output, 4),
        prompt_edges=prompt_edges,
        output_edges=output_edges,
        counts=tuple(
            tuple(cells[i, j] for j in range(len(output_edges) - 1))
            for i in range(len(prompt_edges) - 1)
        ),
    )


@click.command()
@click.argument("file", type=INPUT_FILE)
@click.option("--name", required=True, help="What the summary is called.")
@click.option("--source", required=True, help="Where the data is from: whom to cite.")
@click.option("--licence", required=True, help="The licence of the data.")
@click.option("-o", "--out", type=OUTPUT_FILE, required=True, help="The summary to write.")
def main(file: Path, name: str, source: str, licence: str, out: Path) -> None:
    """Write the joint histogram of prompt and answer lengths of a request FILE."""
    check_out("--out", out, file)
    try:
        fitted = summarize(load(file), name, source, licence)
    except (WorkloadError, OSError) as error:
        raise BadInput(naming(file, error)) from error
    with blaming(out), replacing(out) as opened:
        opened.write(fitted.to_json().encode())
    click.echo(f"{out}: {fitted.requests:,} requests, {out.stat().st_size:,} bytes")


def _edges(lengths: Sequence[int]) -> tuple[int, ...]:
    """Where cells begin: the shortest length, steps of an octave's part, one past the longest."""
    shortest, longest = min(lengths), max(lengths)
    steps = range(CELLS_PER_OCTAVE * longest.bit_length())
    between = {round(2 ** (step / CELLS_PER_OCTAVE)) for step in steps}
    inner = {edge for edge in between if shortest < edge <= longest}
    return tuple(sorted(inner | {shortest, longest + 1}))


def _cell(edges: tuple[int, ...], length: int) -> int:
    return bisect_right(edges, length) - 1


if __name__ == "__main__":
    main()
