"""The check of the pins: offline is not the same as wrong, and what would drift is told."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import pins

pytestmark = pytest.mark.ch00

Answer = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def constraints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    file = tmp_path / "constraints.txt"
    file.write_text("numpy==2.4.6\n")
    monkeypatch.setattr(pins, "PINS", file)
    return file


def answering(code: int = 0, err: str = "", text: str = "numpy==2.4.6\n") -> Answer:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if "-o" in command and not code:
            Path(command[command.index("-o") + 1]).write_text(text)
        return subprocess.CompletedProcess(command, code, "", err)

    return run


@pytest.mark.parametrize(
    ("answer", "exit_code"),
    [
        (answering(), None),
        (answering(text="numpy==2.4.6\nsix==1.17.0\n"), "make pins"),
        (answering(1, "No solution found when resolving dependencies"), "does not resolve"),
        (answering(2, "error: Failed to fetch\n  cause: dns error"), 0),
        (answering(1, "No solution found\nhint: the network was disabled"), 0),
    ],
)
def test_the_check(
    monkeypatch: pytest.MonkeyPatch, constraints: Path, answer: Answer, exit_code: int | str | None
) -> None:
    before = constraints.read_bytes()
    monkeypatch.setattr(subprocess, "run", answer)
    if exit_code is None:
        pins.main([])
    else:
        with pytest.raises(SystemExit) as left:
            pins.main([])
        assert left.value.code == exit_code or str(exit_code) in str(left.value.code)
    assert constraints.read_bytes() == before


def test_each_system_and_python_is_asked_for_wheels_of_the_pins(
    monkeypatch: pytest.MonkeyPatch, constraints: Path
) -> None:
    monkeypatch.setenv("UV_FIND_LINKS", "wheels of this machine")
    asked = []

    def run(command: list[str], env: dict[str, str], **_: object) -> object:
        assert "UV_FIND_LINKS" not in env
        if "--no-build" in command:
            assert command[command.index("-c") + 1] == str(constraints)
            asked.append(tuple(one for one in command if one.startswith("--python-")))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    pins.main([])
    assert len(set(asked)) == 9


def test_write(monkeypatch: pytest.MonkeyPatch, constraints: Path) -> None:
    monkeypatch.setattr(subprocess, "run", answering(1, "No solution found"))
    with pytest.raises(SystemExit, match="No solution"):
        pins.main(["--write"])
    assert constraints.read_text() == "numpy==2.4.6\n"
    monkeypatch.setattr(subprocess, "run", answering(text="numpy==9\n"))
    pins.main(["--write", "--upgrade"])
    assert constraints.read_text() == "numpy==9\n"
