"""The file that keeps a reader's progress: broken by hand, it is an answer and not a crash."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pagesim.lesson import progress_file


@pytest.fixture(autouse=True)
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PAGESIM_PROGRESS", raising=False)
    return tmp_path / progress_file.NAME


BROKEN = [
    "",
    "{",
    "[]",
    "null",
    '{"exercises": []}',
    '{"exercises": {}, "predictions": 3}',
    '{"exercises": {"2.1": ' + "9" * 5000 + "}}",
    "[" * 100_000,
    "\udcff",
    " " * (progress_file.LARGEST + 1),
]


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:40].strip() or "blank")
def test_a_damaged_file_is_told_and_put_aside(text: str, beside: Path) -> None:
    raw = text.encode("utf-8", "surrogateescape")
    beside.write_bytes(raw)
    assert progress_file.read() == {}
    sentence = progress_file.problem()
    assert str(beside) in sentence and sentence.count("\n") == 0 and len(sentence) < 500
    assert beside.read_bytes() == raw, "reading changes nothing"
    progress_file.keep("exercises", "2.1", {"right": True})
    assert progress_file.read() == {"exercises": {"2.1": {"right": True}}}
    assert progress_file.problem() == ""
    assert beside.with_name(f"{beside.name}.damaged").read_bytes() == raw


def test_no_file_is_no_problem() -> None:
    assert progress_file.read() == {} and progress_file.problem() == ""


@pytest.mark.parametrize("make", ["mkdir", "mkfifo"])
def test_what_is_no_file_is_told(make: str, beside: Path) -> None:
    if not hasattr(os, make):
        pytest.skip(f"no {make} here")
    getattr(os, make)(beside)  # reading a pipe would wait without end
    assert "is not a regular file" in progress_file.problem() and progress_file.read() == {}
    with pytest.raises(OSError, match="is not a regular file"):
        progress_file.keep("exercises", "2.1", {})
