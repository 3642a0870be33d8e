"""A trace for the commands that serve one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagesim.workload import gamma


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    workload = gamma(40, 60, 1.0, 40, 0.8, rate=4.0, seed=1, max_len=256)
    lines = [f"{r.arrival_s},{r.prompt_tokens},{r.output_tokens}\n" for r in workload]
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n" + "".join(lines))
    return path
