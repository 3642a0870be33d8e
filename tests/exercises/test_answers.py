"""What students write, right and wrong, is judged so, by `check` and by the cases of `grade`.

The answers are those of tests/data/answers. A few of each exercise are tried here, and by `check`;
`make nightly` tries all of them, the kernels' too, and by both (PAGESIM_ANSWERS=all).
"""

import os
from dataclasses import replace
from itertools import islice

import pytest

from pagesim import exercises
from tests.exercises.answers import FOLDER, Written, needs, verdicts, written

ALL = os.environ.get("PAGESIM_ANSWERS") == "all"
NUMBERS = {path.stem for path in FOLDER.glob("*.py")}
TRIED = [
    e
    for e in exercises.all()
    if e.number in NUMBERS and (ALL or ("@triton.jit" not in e.stub and e.number != "7.2"))
]
"""An answer to 7.2 serves whole workloads, again and again."""

FEW_CASES = 4


def tried(number: str) -> list[Written]:
    """All answers to an exercise, or one that is right and every fourth of those that are wrong."""
    answers = written(number)
    right = [answer for answer in answers if answer.right]
    wrong = [answer for answer in answers if not answer.right]
    return answers if ALL else right[-1:] + wrong[::4]


ANSWERS = [answer for exercise in TRIED for answer in tried(exercise.number)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "answer", ANSWERS, ids=lambda a: f"{a.number} {'right' if a.right else 'wrong'}: {a.note}"
)
def test_an_answer_is_judged_as_what_it_is(answer: Written) -> None:
    exercise = exercises.get(answer.number)
    needs(exercise)
    if answer.right and not ALL:
        cases = exercise.cases
        exercise = replace(exercise, cases=lambda *given: islice(cases(*given), FEW_CASES))
    shown, *graded = islice(verdicts(exercise, answer), 2 if ALL else 1)
    for verdict in (shown, *graded):
        assert bool(verdict) == answer.right, str(verdict)
    assert answer.right or (shown.yours and shown.tried), "it is told why"


def test_every_exercise_has_some_of_both_kinds() -> None:
    for exercise in TRIED:
        kinds = [answer.right for answer in written(exercise.number)]
        assert kinds.count(True) >= 5 and kinds.count(False) >= 10, exercise.number
