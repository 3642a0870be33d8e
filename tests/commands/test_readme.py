"""The command lines of docs/cli.md are run as they stand, one after another, in one folder."""

import io
import json
import re
import shlex
import subprocess
import webbrowser
from pathlib import Path

import pytest

from pagesim.commands import findings
from pagesim.kernels import backend
from pagesim.studies import paper
from tests.commands.runs import run

pytestmark = pytest.mark.ch01

ROOT = Path(__file__).parents[2]

TEXT = (ROOT / "docs/cli.md").read_text("utf-8")


def blocks(kind: str) -> list[str]:
    """The blocks of a kind, each as it is written."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return [block for named, block in found if named == kind]


def lines() -> list[str]:
    """The command lines, without their comments."""
    return [line.partition(" #")[0] for block in blocks("") for line in block.splitlines()]


def test_every_line_works_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    whole = paper.figure_2
    # Its numbers are those of studies/test_paper.py; test_doctor.py starts doctor's process.
    monkeypatch.setattr(paper, "figure_2", lambda: whole(200))
    probed = subprocess.CompletedProcess([], 0, stdout=json.dumps(backend.report()))
    monkeypatch.setattr(findings, "start_probe", lambda: probed)
    Path("tests").symlink_to(ROOT / "tests", target_is_directory=True)
    rows = "".join(f"{i / 4},{40 + 13 * i % 90},{20 + 7 * i % 60}\n" for i in range(20))
    Path("trace.csv").write_text(f"arrival_s,prompt_tokens,output_tokens\n{rows}")
    (grid,) = blocks("json")
    Path("grid.json").write_text(grid)
    written, outputs = lines(), []
    assert len(written) >= 11
    for line in written:
        output = ""
        for command in line.split(" | "):
            monkeypatch.setattr("sys.stdin", io.StringIO(output))
            code = run(*shlex.split(command)[1:])
            output, errors = capsys.readouterr()
            # On a bare installation, doctor names what is missing.
            assert code in ((0, 1) if "doctor" in command else (0,)), (command, errors)
        outputs.append(output)
    for name in ("run.jsonl.gz", "requests.csv", "study.jsonl", "run.html", "walk.jsonl.gz"):
        assert Path(name).stat().st_size > 0
    printed = [[line.split() for line in output.splitlines()] for output in outputs]
    for shown in blocks("text"):
        words = [line.split() for line in shown.splitlines()]
        assert any(all(line in lines for line in words) for lines in printed), shown
