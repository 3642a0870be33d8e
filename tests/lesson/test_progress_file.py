"""The file that keeps a reader's progress: broken by hand, it is an answer and not a crash."""

import json
import os
from pathlib import Path

import pytest

from pagesim import exercises
from pagesim.lesson import moved, progress_file


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
    assert progress_file.read()["exercises"] == {"2.1": {"right": True}}
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


def test_progress_of_the_first_edition_goes_on_counting(beside: Path) -> None:
    """Its chapters had other numbers: 4.1 was the CUDA kernel, and is growing and sharing now."""
    old = {
        "exercises": {
            "4.1": {"right": True},
            "5.1": {"tries": 2},
            "2.6": {},
            "11.4": {},
            "12.2": {},
        },
        "predictions": {"ch11 pauses": {}, "ch11 queue": {}, "ch02 growth": {}, "by hand": {}},
    }
    beside.write_text(json.dumps(old))
    found = progress_file.read()
    assert found["exercises"] == {
        "14.1": {"right": True}, "4.1": {"tries": 2}, "9.1": {}, "10.1": {}, "16.2": {},
    }  # fmt: skip
    assert set(found["predictions"]) == {"ch10 pauses", "ch09 queue", "ch02 growth", "by hand"}
    progress_file.keep("exercises", "5.1", {"tries": 1})
    assert progress_file.read()["exercises"] == found["exercises"] | {"5.1": {"tries": 1}}


def test_every_exercise_of_the_first_edition_has_a_place() -> None:
    sizes = (3, 3, 6, 4, 3, 4, 4, 5, 4, 6, 4, 5, 4)
    old = [f"{chapter}.{i}" for chapter, size in enumerate(sizes) for i in range(1, size + 1)]
    new = [moved.exercise(number) for number in old]
    assert len(set(new)) == 55 and set(new) <= {each.number for each in exercises.all()}
