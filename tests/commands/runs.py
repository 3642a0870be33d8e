"""How the tests of `pagesim waste`, `simulate` and `sweep` run a command."""

import json
from pathlib import Path
from typing import Any

import pytest

from pagesim import cli
from pagesim.workload import gamma

KEYS = ["token", "reserved", "internal", "external", "free", "batch"]
SMALL = ("--slots", "1000", "--max-len", "256")


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as left:
        cli.main([str(argument) for argument in arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


def answer(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    assert run(*arguments, "--json") == 0
    out, err = capsys.readouterr()
    assert err == "" and out.count("\n") == 1
    value: dict[str, Any] = json.loads(out)
    return value


def written(folder: Path) -> Path:
    """A trace of 40 requests."""
    workload = gamma(40, 60, 1.0, 40, 0.8, rate=4.0, seed=1, max_len=256)
    lines = [f"{r.arrival_s},{r.prompt_tokens},{r.output_tokens}\n" for r in workload]
    path = folder / "trace.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n" + "".join(lines))
    return path
