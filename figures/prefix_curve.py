"""Measures what `figures.prefix_hits` draws, from a trace that we may not carry.

The points in figures/data/prefix_hits.json are made again in some seconds, with the file
conversation_trace.jsonl of the Mooncake repository (github.com/kvcache-ai/Mooncake, its folder
FAST25-release/traces; Apache-2.0)::

    python -m figures.prefix_curve conversation_trace.jsonl --first 3000
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pagesim.files import check_output, replacing
from pagesim.studies.prefix_hits import cache_hits, hit_curve, ids_seen_before
from pagesim.workload import Workload, load
from pagesim.workload.request import HASH_BLOCK_TOKENS

DATA = Path(__file__).parent / "data" / "prefix_hits.json"
SOURCE = (
    "Data: the first {count:,} requests of {trace}, through pagesim's "
    "PrefixCachingBlockAllocator one prompt at a time, without answers and without concurrency."
)
MOONCAKE = "the Mooncake conversation trace (FAST25-release, Apache-2.0)"


def measure(workload: Workload, trace: str | None = None) -> dict[str, Any]:
    """The curve of a trace with hashes, both limits, and a word on which ``trace`` it is of."""
    return {
        "source": SOURCE.format(count=len(workload), trace=trace or workload.source),
        "block_tokens": HASH_BLOCK_TOKENS,
        "ids": asdict(ids_seen_before(workload)),
        "endless": asdict(cache_hits(workload)),
        "curve": [asdict(point) for point in hit_curve(workload)],
    }


def main() -> None:
    """Measure the trace named on the command line, and write figures/data/prefix_hits.json."""
    parser = argparse.ArgumentParser(prog="python -m figures.prefix_curve")
    parser.add_argument("trace", type=Path, help="the Mooncake conversation trace")
    parser.add_argument("--first", type=int, default=3000, help="requests to take (3000)")
    parser.add_argument("--out", type=Path, default=DATA, help="the JSON file to write")
    given = parser.parse_args()
    check_output(given.out, given.trace)
    measured = measure(load(given.trace, first=given.first), MOONCAKE)
    with replacing(given.out) as file:
        file.write(json.dumps(measured, indent=2).encode() + b"\n")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
