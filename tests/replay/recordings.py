"""The recordings of the real vLLM, and how tests read and write such files."""

import gzip
import json
from pathlib import Path
from typing import Any

from pagesim import exercises

DATA = Path(__file__).parents[1] / "data"
DATA_V1 = DATA / "v1"
V0 = sorted(DATA.glob("*-*-[0-9]*.jsonl.gz"))
# Three of V1's are package data: the final project is graded by them.
GRADING = Path(exercises.__file__).parent / "ch09" / "recordings"
V1 = sorted([*DATA_V1.glob("*.jsonl.gz"), *GRADING.glob("*.jsonl.gz")])

V1_GROUPS = sorted((DATA / "v1_groups").glob("*-2[0-9]*.jsonl.gz"))
"""Of V1 with several KV cache groups."""

V1_OBSERVED = sorted((DATA / "v1_offload").glob("observed_manager-*.jsonl.gz"))
"""Of V1's KV events and metrics."""

V1_OFFLOAD = sorted((DATA / "v1_offload").glob("offload_*.jsonl.gz"))
"""Of V1's second tier: of its manager alone, and of a scheduler."""


def lines_of(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    lines = (gzip.decompress(raw) if path.suffix == ".gz" else raw).splitlines()
    return [json.loads(line) for line in lines]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
