"""What students write, right and wrong, is judged so, by `check` and by the cases of `grade`.

The answers are those of tests/data/answers. The kernels' take longer: `make nightly` runs them
(PAGESIM_ANSWERS=kernels).
"""

from __future__ import annotations

import os

import pytest

from pagesim import (
    exercises,
    kernels,  # before triton: it decides how triton is imported
)
from tests.exercises.answers import FOLDER, Written, verdicts, written

KERNELS = os.environ.get("PAGESIM_ANSWERS") == "kernels"
NUMBERS = {path.stem for path in FOLDER.glob("*.py")}
TRIED = [e for e in exercises.all() if e.number in NUMBERS and ("@triton.jit" in e.stub) == KERNELS]
ANSWERS = [answer for exercise in TRIED for answer in written(exercise.number)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "answer", ANSWERS, ids=lambda a: f"{a.number} {'right' if a.right else 'wrong'}: {a.note}"
)
def test_an_answer_is_judged_as_what_it_is(answer: Written) -> None:
    exercise = exercises.get(answer.number)
    if exercise.needs_triton and kernels.backend.decide().mode == "reference":
        pytest.skip("kernels cannot run here")
    shown, graded = verdicts(exercise, answer)
    assert bool(shown) == answer.right, f"check:\n{shown}"
    assert bool(graded) == answer.right, f"grade:\n{graded}"
    assert answer.right or (shown.yours and shown.tried), "it is told why"


def test_every_exercise_has_some_of_both_kinds() -> None:
    for exercise in TRIED:
        kinds = [answer.right for answer in written(exercise.number)]
        assert kinds.count(True) >= 5 and kinds.count(False) >= 10, exercise.number
