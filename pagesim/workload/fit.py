"""Summarizes requests for :mod:`pagesim.workload.fitted`: what `pagesim fit` does with a file."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from pagesim.workload.fitted import Summary
from pagesim.workload.request import Workload

CELLS_PER_OCTAVE = 4
"""The resolution of the table: lengths are known within a factor of 2 ** (1 / 4), about 19 %."""


def summarize(workload: Workload, name: str, source: str, licence: str) -> Summary:
    """The table of the lengths in ``workload``; it is deterministic.

    The cells end at the longest lengths, so no draw is longer than the data.
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


def _edges(lengths: Sequence[int]) -> tuple[int, ...]:
    """The edges of the cells: the shortest length, fractions of an octave, one past the longest."""
    shortest, longest = min(lengths), max(lengths)
    steps = range(CELLS_PER_OCTAVE * longest.bit_length())
    between = {round(2 ** (step / CELLS_PER_OCTAVE)) for step in steps}
    inner = {edge for edge in between if shortest < edge <= longest}
    return tuple(sorted(inner | {shortest, longest + 1}))


def _cell(edges: tuple[int, ...], length: int) -> int:
    return bisect_right(edges, length) - 1
