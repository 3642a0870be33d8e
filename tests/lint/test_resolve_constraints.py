"""The check of the pins: offline is not the same as wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.lint import resolve_constraints as lint

pytestmark = pytest.mark.ch00

ANSWER = "numpy==2.4.6\ntorch==2.13.0\n"
IMPOSSIBLE = "error: No solution found when resolving dependencies\n  because numpy<2 and numpy>=2"


@pytest.fixture(autouse=True)
def constraints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    file = tmp_path / "constraints.txt"
    file.write_text("# why\nnumpy==2.4.6\ntorch==2.13.0 ; sys_platform == 'linux'\n")
    monkeypatch.setattr(lint, "CONSTRAINTS", file)
    return file


def saying(code: int, out: str = "", err: str = "") -> lint.Runner:
    return lambda arguments: subprocess.CompletedProcess(arguments, code, out, err)


def test_all_systems_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[tuple[str, str]] = []

    def runner(arguments: list[str]) -> subprocess.CompletedProcess[str]:
        assert "--no-build" in arguments
        asked.append((arguments[1], arguments[3]))
        return subprocess.CompletedProcess(arguments, 0, ANSWER, "")

    assert lint.check(runner) == 0
    assert {platform for platform, _ in asked} == {"linux", "macos", "windows"}
    assert {python for _, python in asked} >= {"3.11"}
    assert capsys.readouterr().out.count("2 packages, all pinned") == len(asked)


def test_what_cannot_be_met_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.check(saying(1, err=IMPOSSIBLE)) == 1
    assert "DOES NOT RESOLVE" in capsys.readouterr().out


@pytest.mark.parametrize(
    "err",
    [
        "error: Failed to fetch\n  cause: error sending request for url\n  cause: dns error",
        f"{IMPOSSIBLE}\nhint: Packages were unavailable because the network was disabled.",
        "error: HTTP status server error (503 Service Unavailable)",
    ],
)
def test_no_network_is_a_skip_with_a_reason(err: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.check(saying(2, err=err)) == 0
    assert "skipped, the package index cannot be reached (" in capsys.readouterr().out


def test_a_failure_before_the_network_went_is_a_failure() -> None:
    answers = iter([saying(1, err=IMPOSSIBLE), saying(2, err="dns error")])
    assert lint.check(lambda arguments: next(answers)(arguments)) == 1


@pytest.mark.parametrize(
    ("extra", "words"),
    [("six==1.17.0", "six==1.17.0 is not pinned"), ("numpy==2.5", "numpy==2.5 is pinned as 2.4.6")],
)
def test_what_would_drift_fails(extra: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.check(saying(0, f"{ANSWER}{extra}\n")) == 1
    assert words in capsys.readouterr().out


def test_pins_are_read_whatever_their_spelling() -> None:
    text = "# a==1\nRuamel.Yaml_x[jinja]==1.0 ; python_version < '3'\n  b==2.0+cpu\nc>=3\n"
    assert lint.pins(text) == {"ruamel-yaml-x": "1.0", "b": "2.0+cpu"}


def test_write_keeps_the_comment_and_holds_torch(constraints: Path) -> None:
    def runner(arguments: list[str]) -> subprocess.CompletedProcess[str]:
        held = Path(arguments[arguments.index("-c") + 1]).read_text()
        output = Path(arguments[arguments.index("-o") + 1])
        assert held == "torch==2.13.0 ; sys_platform == 'linux'\n"
        assert "numpy" not in output.read_text(), "--upgrade forgets what was pinned"
        output.write_text("numpy==9.0\ntorch==2.13.0\n")
        return subprocess.CompletedProcess(arguments, 0, "", "")

    assert lint.write(upgrade=True, runner=runner) == 0
    assert constraints.read_text() == "# why\nnumpy==9.0\ntorch==2.13.0\n"


def test_write_leaves_the_file_alone_when_it_fails(constraints: Path) -> None:
    before = constraints.read_text()
    assert lint.write(upgrade=False, runner=saying(1, err=IMPOSSIBLE)) == 1
    assert constraints.read_text() == before
