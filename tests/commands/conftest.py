"""A shell, and a trace for the commands that serve one."""

from pathlib import Path

import pytest

from pagesim.studies import paper
from tests.commands.runs import Shell, written


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def small_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's figure of fewer requests: its numbers are those of studies/test_paper.py."""
    whole = paper.figure_2
    monkeypatch.setattr(paper, "figure_2", lambda: whole(300))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return written(tmp_path)
