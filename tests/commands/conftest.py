"""A shell, and a trace for the commands that serve one."""

from pathlib import Path

import pytest

from tests.commands.runs import Shell, written


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return written(tmp_path)
