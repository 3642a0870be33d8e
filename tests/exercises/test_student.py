"""check, hint, solution and progress, and the file that they keep."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pagesim import exercises
from pagesim.errors import UsageError
from pagesim.exercises import student
from pagesim.lesson import progress_file
from tests.exercises.answers import blank

RIGHT = exercises.get("2.1").reference
WRONG = exercises.get("2.1").wrong["no_offset"]


@pytest.fixture(autouse=True)
def _a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PAGESIM_PROGRESS", raising=False)
    monkeypatch.setattr(student, "_asked", set())
    monkeypatch.setattr(student, "_hinted", {})


def kept() -> dict[str, Any]:
    return json.loads(Path(progress_file.NAME).read_text())["exercises"]


def test_a_check_is_kept_and_right_stays_right() -> None:
    assert not exercises.check("2.1", WRONG)
    assert kept() == {"2.1": {"tries": 1, "right": False, "hints": 0, "solution": False}}
    assert exercises.check("2.1", RIGHT)
    assert not exercises.check("2.1", WRONG)
    assert kept() == {"2.1": {"tries": 3, "right": True, "hints": 0, "solution": False}}
    assert os.listdir() == [progress_file.NAME], "nothing else is left"


def test_a_student_sees_the_smallest_case() -> None:
    exercise = exercises.get("7.1")

    def wrong(*args: Any) -> Any:
        return ["?"] if len(args[0]) > 3 else exercise.reference(*args)

    shown, first = exercises.check("7.1", wrong), exercise.check(wrong)
    assert len(shown.case.args[0]) == 4 < len(first.case.args[0])


def test_what_is_not_written_is_no_try() -> None:
    assert not exercises.check("2.1", blank) and not Path(progress_file.NAME).exists()


def test_each_call_gives_the_next_hint_and_the_last_stays() -> None:
    texts = exercises.get("2.1").hints
    said = [exercises.hint("2.1") for _ in range(4)]
    for place, text in enumerate([*texts, texts[-1]]):
        assert f"**Hint {min(place, 2) + 1} of 3:** {text}" in said[place]
    assert ['solution("2.1")' in text for text in said] == [False, False, True, True]
    assert kept()["2.1"]["hints"] == 3
    assert repr(said[0]) == str(said[0]) == said[0]._repr_markdown_()


def test_hints_go_on_after_the_kernel_was_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    exercises.hint("2.1")
    monkeypatch.setattr(student, "_hinted", {})
    assert "Hint 2 of 3" in exercises.hint("2.1")


def test_the_solution_asks_first() -> None:
    first = exercises.solution("2.1")
    assert "return result" not in first and 'call `solution("2.1")` again' in first
    assert not Path(progress_file.NAME).exists()
    second = exercises.solution("2.1")
    assert "    return result\n```" in second and "###" not in second
    assert "vllm/attention/backends/utils.py: compute_slot_mapping" in second
    assert kept()["2.1"]["solution"] is True


def test_progress_counts_points() -> None:
    total = sum(exercise.points for exercise in exercises.all())
    assert str(exercises.progress()).endswith(f"\n0 of {total} points")
    exercises.hint("2.1")
    exercises.check("2.1", WRONG)
    exercises.check("2.1", RIGHT)
    said = exercises.progress()
    assert said.points == 1 and f"1 of {total} points" in said._repr_html_()
    (line,) = (line for line in str(said).splitlines() if " 2.1 " in line)
    assert line.startswith("✓ 2.1   *    Slots") and line.endswith("2 tries, 1 hint")


TRIES = [{"tries": wrong} for wrong in ("many", -1, True, 2**31)]


@pytest.mark.parametrize("entry", [3, [], None, {"right": 1}, {"points": 9}, *TRIES], ids=str)
def test_an_entry_changed_by_hand_counts_as_none(entry: Any) -> None:
    """The others stay, those of another release as well."""
    other = {"tries": 4, "right": True, "hints": 0, "solution": False}
    said = {"exercises": {"2.1": entry, "99.1": other}, "predictions": {"a": {"right": True}}}
    Path(progress_file.NAME).write_text(json.dumps(said))
    assert exercises.progress().points == 0
    assert exercises.check("2.1", RIGHT) and "Hint 1" in exercises.hint("2.1")
    right = {"tries": 1, "right": True, "hints": 1, "solution": False}
    assert kept() == {"2.1": right, "99.1": other}
    assert progress_file.read()["predictions"] == said["predictions"]


def test_a_damaged_file_is_told_and_nothing_fails() -> None:
    Path(progress_file.NAME).write_text("{")
    said = exercises.progress()
    assert said.problem.startswith("The progress file cannot be read: ")
    assert str(said).startswith(said.problem) and said.problem[:30] in said._repr_html_()
    assert exercises.check("2.1", RIGHT)
    assert exercises.progress().points == 1 and exercises.progress().problem == ""


def test_a_folder_that_cannot_be_written_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAGESIM_PROGRESS", "missing/file.json")
    assert exercises.check("2.1", RIGHT)
    assert "Hint 1" in exercises.hint("2.1") and "Hint 2" in exercises.hint("2.1")
    assert capsys.readouterr().out.count("Your progress is not saved: ") == 3


@pytest.mark.parametrize("call", [exercises.hint, exercises.solution, exercises.get])
def test_an_unknown_number_is_named(call: Any) -> None:
    with pytest.raises(UsageError, match=r"there is no exercise '2\.99'; there are .*2\.1"):
        call("2.99")
