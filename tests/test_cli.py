"""The command line: help, exit codes, one object on stdout, one line on stderr."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from pagesim import cli, doctor

pytestmark = pytest.mark.ch00


@dataclass
class FakeResult:
    path: Path
    kind: str = "block_table"
    operations: int = 7
    total: int = 9
    mismatch: str | None = None


class FakeTraceError(ValueError):
    pass


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Three files named after what replaying them gives; replay itself has its own tests."""

    def replay_file(path: Path) -> FakeResult:
        if path.stem == "bad":
            raise FakeTraceError(f"{path}:3: no JSON")
        wrong = "op#3 create.tables: expected [0], got [1]" if path.stem == "differs" else None
        return FakeResult(path, mismatch=wrong)

    module = ModuleType("pagesim.replay")
    vars(module).update(replay_file=replay_file, TraceError=FakeTraceError)
    monkeypatch.setitem(sys.modules, "pagesim.replay", module)
    for name in ("good", "differs", "bad"):
        (tmp_path / f"{name}.jsonl").touch()
    return tmp_path


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as left:
        cli.main([str(argument) for argument in arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.mark.parametrize("command", [[], ["doctor"], ["replay"]])
def test_help_has_an_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*command, "--help") == 0
    shown = capsys.readouterr().out
    assert "Example:\n" in shown and f"    pagesim {' '.join(command)}".rstrip() in shown


def test_every_command_has_json() -> None:
    for name, command in cli.cli.commands.items():
        assert any("--json" in parameter.opts for parameter in command.params), name


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    assert "Commands:" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nonsense"], ["doctor", "--loud"], ["replay"]])
def test_bad_usage_is_one_line_and_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("pagesim: ") and err.count("\n") == 1


@pytest.mark.parametrize("ok", [True, False])
def test_doctor_prints_findings_and_remedies(
    ok: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = doctor.Finding("torch", "ok" if ok else "missing", "a word", None if ok else "mend")
    report = doctor.Report((finding,), None)
    monkeypatch.setattr(doctor, "examine", lambda: report)

    assert run("doctor") == (0 if ok else 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split(maxsplit=2) == [finding.status, "torch", "a word"]
    assert lines[1:-1] == ([] if ok else [f"{'':<20}-> mend"])
    assert lines[-1] == ("The course can run." if ok else "The course cannot run yet: torch.")

    assert run("doctor", "--json") == (0 if ok else 1)
    out, err = capsys.readouterr()
    assert json.loads(out) == report.as_dict() and err == ""


def test_replay_of_equal_traces_is_0(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = traces / "good.jsonl"
    assert run("replay", good, good) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"ok      {good}: block_table, 7 of 9 operations compared"] * 2


def test_replay_of_a_difference_is_1_and_names_it(
    traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = (traces / "good.jsonl", traces / "differs.jsonl")
    assert run("replay", *files) == 1
    assert "expected [0], got [1]" in capsys.readouterr().out
    assert run("replay", "--json", *files) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["ok"] is False
    assert [file["mismatch"] is None for file in value["files"]] == [True, False]
    assert value["files"][0] == {
        "path": str(files[0]),
        "kind": "block_table",
        "operations": 7,
        "total": 9,
        "mismatch": None,
    }


@pytest.mark.parametrize(
    ("name", "words"), [("bad.jsonl", "bad.jsonl:3: no JSON"), ("absent.jsonl", "does not exist")]
)
def test_replay_of_a_bad_file_is_2_and_one_line(
    traces: Path, name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("replay", "--json", traces / name) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in err and err.count("\n") == 1
