"""A trace for the commands that serve one."""

from pathlib import Path

import pytest

from tests.commands.runs import written


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return written(tmp_path)
