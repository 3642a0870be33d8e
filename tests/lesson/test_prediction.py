"""Predictions: the truth comes from the run, shows where it is asked for, and nowhere else."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pagesim
from pagesim.lesson import progress_file
from pagesim.lesson.agreement import agrees
from pagesim.lesson.prediction import NONE_YET
from tests.kernels.children import python


@pytest.fixture(autouse=True)
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for the progress file."""
    monkeypatch.delenv("PAGESIM_PROGRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything_but_the_answer(prediction: Any) -> str:
    bundle = prediction.reveal()._repr_mimebundle_()
    return repr(prediction) + bundle["text/plain"]


@pytest.mark.parametrize("mine", [None, {"token": None}, {"token": 31, "free": None}])
def test_without_a_prediction_nothing_is_told_or_kept(mine: Any, beside: Path) -> None:
    prediction = pagesim.predict("ch01 words", mine, lambda: {"token": 31, "free": 4711})
    assert repr(prediction) == NONE_YET
    assert "4711" not in everything_but_the_answer(prediction)
    assert list(beside.iterdir()) == []
    assert pagesim.score().made == 0


def test_a_wrong_prediction_does_not_learn_the_truth() -> None:
    prediction = pagesim.predict("ch02 growth", [2, 5], lambda: [1, 5, 9])
    assert "Wrong" in repr(prediction) and "[2, 5]" in repr(prediction)
    assert "9" not in everything_but_the_answer(prediction)
    assert "[1, 5, 9]" in prediction.reveal()._repr_mimebundle_()["text/html"]


def test_a_right_one_is_told_so() -> None:
    prediction = pagesim.predict("ch02 growth", [1, 5, 9], lambda: (1, 5, 9))
    assert prediction.is_right and "Right" in repr(prediction)


def test_of_several_parts_the_right_ones_are_named() -> None:
    truth = {"token": 15, "free": 0, "external": 16}
    mine = {"token": 15, "free": 0, "external": 7}
    shown = repr(pagesim.predict("ch01 words", mine, lambda: truth))
    assert "2 of 3 are right: token, free." in shown and "16" not in shown


def test_the_truth_is_asked_for_each_time() -> None:
    story = pagesim.Story(gpu_blocks=8, block_size=4)
    writer = story.arrive("a b c d")
    assert pagesim.predict("ch00", [0], lambda: writer.block_ids).is_right
    later = pagesim.predict("ch00", [0, 1], lambda: writer.block_ids)
    assert not later.is_right
    writer.write("e")
    assert "the answer: [0, 1]" in str(later.reveal())
    assert pagesim.predict("ch00", [0, 1], lambda: writer.block_ids).is_right


def test_a_stored_answer_is_refused() -> None:
    with pytest.raises(TypeError, match="truth must be a function"):
        pagesim.predict("ch02 growth", None, [1, 5, 9])  # type: ignore[arg-type]


def test_the_answer_is_folded_and_holds_what_the_block_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    prediction = pagesim.predict("ch02 growth", 3, lambda: 7)
    with prediction.reveal() as answer:
        print("length <4711>")
    page = answer._repr_mimebundle_()["text/html"]
    assert page.startswith('<details class="answer"><summary>The answer</summary>')
    assert "length &lt;4711&gt;" in page and "4711" not in everything_but_the_answer(prediction)
    assert capsys.readouterr().out == "you said:   3\nthe answer: 7\nlength <4711>\n"


def test_an_error_in_the_block_is_not_swallowed(capsys: pytest.CaptureFixture[str]) -> None:
    prediction = pagesim.predict("ch02 growth", None, lambda: 7)
    with pytest.raises(ZeroDivisionError), prediction.reveal():
        print(1 / 0)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("mine", "truth"),
    [
        ((1, 2), [1, 2]),
        ([1, 2], np.array([1, 2])),
        ([2, 1], {1, 2}),
        ("Paged ", "paged"),
        (3, 3.0),
        (True, np.bool_(True)),
        (1, [1]),
        ([1], 1),
        ((0, 1), [(0, 1)]),
        ("[0, 1, 4]", [0, 1, 4]),
        ("0, 1, 4", [0, 1, 4]),
        (["0", "1"], [0, 1]),
        ("(0, 1)", (0, 1)),
        ("1/16", 1 / 16),
        (" 0.0625", 1 / 16),
        ("31", 31),
        ("31", [31]),
        ({3}, {3}),
        ([3, 3], {3}),
        (3, {3}),
        (set(), set()),
        ("Same Bits", "samebits"),
        (0.1 + 0.2, 0.3),
        (6.0, 6),
        (float("inf"), float("inf")),
    ],
)
def test_what_says_the_same_agrees(mine: Any, truth: Any) -> None:
    assert agrees(mine, truth)


@pytest.mark.parametrize(
    ("mine", "truth"),
    [
        ([2, 1], [1, 2]), ([1], [1, 2]), (1, True), (1, "1"), (float("nan"), 1.0), ("a", 1),
        ([1, 2], 1), ([], [1]), ([], {1}), ({1, 2}, {1}), ({1}, {1, 2}), ([[1]], 1),
        ("1/0", 1.0), ("1/2/3", 1.0), ("[0, 1", [0, 1]), (10**12 + 1, 10**12), (10**400, 1.0),
        (10**400, 1), ("", [1]), (None, 0), ("9" * 10_000, 1), ("[" * 10_000, [1]),
        ("-" * 100_000 + "1", 1), ("-" * 3_000 + "1", 1),
    ],
)  # fmt: skip
def test_what_says_something_else_does_not(mine: Any, truth: Any) -> None:
    assert not agrees(mine, truth)


def test_numbers_may_be_off_by_a_part_of_the_truth() -> None:
    assert agrees(29, 31.5, within=0.1) and not agrees(28, 31.5, within=0.1)
    assert agrees({"a": 1.05}, {"a": 1.0}, within=0.1)
    assert agrees(34.6, 31.5, within=0.1) and not agrees(34.8, 31.5, within=0.1), "of the truth"
    assert agrees([0.95], [1.0], within=0.1) and agrees({0.95}, {1.0}, within=0.1)


@pytest.mark.parametrize("mine", [5, 7, 5.9, 6.5])
def test_a_count_is_met_exactly_or_not_at_all(mine: float) -> None:
    assert agrees(6, 6, within=0.2) and not agrees(mine, 6, within=0.2)
    assert not agrees({"a": [mine]}, {"a": [6]}, within=0.2)


@pytest.mark.parametrize(
    ("mine", "truth", "message"),
    [
        ("four", [0, 1], "a list is asked for, not a word"),
        (3, [0, 1], "a list is asked for, not a number"),
        ([0, 1], 3, "a number is asked for, not a list"),
        (2, "s2", "a word is asked for, not a number"),
        (1, True, "True or False is asked for, not a number"),
        (None, 3, ""),
        ([1, 2], {"s0": 1, "s1": 2}, "a dict is asked for, not a list"),
        ({"s0": 1}, {"s0": 1, "s1": 2}, "the parts are s0, s1, not s0"),
        ({"s0": "four", "s1": [7]}, {"s0": [0, 1], "s1": [3]}, "s0: a list is asked for"),
    ],
)
def test_another_kind_is_told_and_not_counted(mine: Any, truth: Any, message: str) -> None:
    prediction = pagesim.predict("ch02 growth", mine, lambda: truth)
    assert message in repr(prediction) and "Wrong" not in repr(prediction)
    assert not prediction.is_right and pagesim.score().made == 0
    assert "you said" not in str(prediction.reveal())


def test_a_list_in_quotes_is_the_list() -> None:
    assert pagesim.predict("ch00", {"s0": "[0, 1, 4]"}, lambda: {"s0": [0, 1, 4]}).is_right


# -- the score ------------------------------------------------------------------------------------


def test_the_first_try_counts_and_the_last_is_known(beside: Path) -> None:
    pagesim.predict("ch02 growth", [2], lambda: [1])
    pagesim.predict("ch02 growth", [1], lambda: [1])
    pagesim.predict("ch01 room", 31, lambda: 31)
    found = pagesim.score()
    assert (found.made, found.first, found.right) == (2, 1, 2)
    assert "2 made, 1 right at first, 2 now" in repr(found)
    kept = json.loads((beside / progress_file.NAME).read_text())
    assert kept["predictions"]["ch02 growth"] == {"first": False, "right": True}


def test_another_process_knows_the_score(beside: Path) -> None:
    """A kernel that is restarted, or tomorrow's."""
    for code in (
        "import pagesim; pagesim.predict('ch02 growth', 1, lambda: 1)",
        "import pagesim; assert pagesim.score().right == 1",
    ):
        assert python("-c", code, cwd=beside).returncode == 0


def test_exercises_keep_theirs_in_the_same_file(
    beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pagesim.predict("ch02 growth", [1], lambda: [1])
    (beside / "exercises").mkdir()
    monkeypatch.chdir(beside / "exercises")
    exercise = pagesim.exercises.get("2.1")
    with contextlib.redirect_stdout(io.StringIO()):
        assert pagesim.exercises.check("2.1", exercise.reference)
        assert not pagesim.exercises.check("2.2", lambda *_: None)
    assert (pagesim.score().made, pagesim.score().solved) == (1, 1)
    assert repr(pagesim.score()).endswith("Exercises: 2 tried, 1 solved.")
    assert {"predictions", "exercises"} <= set(progress_file.read())
    assert [each.name for each in beside.iterdir() if each.is_file()] == [progress_file.NAME]


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"predictions": 3}', "\udcff", "[" * 100_000])
def test_a_damaged_file_counts_as_empty(text: str, beside: Path) -> None:
    (beside / progress_file.NAME).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert pagesim.score().made == 0
    pagesim.predict("ch02 growth", [1], lambda: [1])
    assert pagesim.score().right == 1


def test_a_folder_that_cannot_be_written_is_told(
    beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGESIM_PROGRESS", str(beside / "missing" / "file.json"))
    shown = repr(pagesim.predict("ch02 growth", [1], lambda: [1]))
    assert "Right" in shown and "The score was not saved" in shown
