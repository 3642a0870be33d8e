"""How the tests of the command line run a command, and read what it prints."""

import json
from pathlib import Path
from typing import Any

import pytest

from pagesim.commands import cli
from pagesim.workload import gamma

KEYS = ["token", "reserved", "internal", "external", "free", "batch"]
SMALL = ("--slots", "1000", "--max-len", "256")


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        cli.main([str(argument) for argument in arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


class Shell:
    """Runs commands, and reads what they print; ``before`` are the first words of each."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *before: str) -> None:
        self._capsys, self._before = capsys, before

    def printed(self, *arguments: object, code: int = 0) -> tuple[str, str]:
        """What a command that ends with this code prints on stdout, and on stderr."""
        self._capsys.readouterr()
        ended = run(*self._before, *arguments)
        out, err = self._capsys.readouterr()
        assert ended == code, out + err
        return out, err

    def __call__(self, *arguments: object, code: int = 0) -> str:
        """What a command prints on stdout."""
        return self.printed(*arguments, code=code)[0]

    def answer(self, *arguments: object, code: int = 0) -> dict[str, Any]:
        """The one object that a command prints with --json."""
        out, err = self.printed(*arguments, "--json", code=code)
        assert err == "" and out.count("\n") == 1
        return json.loads(out)

    def refusal(self, *arguments: object) -> str:
        """The one line with which a command refuses what it is given."""
        out, err = self.printed(*arguments, code=2)
        assert out == "" and err.startswith("pagesim: ") and err.count("\n") == 1, err
        return err


def requests(path: Path, *rows: str) -> Path:
    """A file of requests, a row for each: when it arrives, and its tokens."""
    path.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows, ""]))
    return path


def written(folder: Path) -> Path:
    """A trace of 40 requests."""
    workload = gamma(40, 60, 1.0, 40, 0.8, rate=4.0, seed=1, max_len=256)
    rows = [f"{r.arrival_s},{r.prompt_tokens},{r.output_tokens}" for r in workload]
    return requests(folder / "trace.csv", *rows)
