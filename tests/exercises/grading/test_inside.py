"""Attacks on the grading itself: whatever the process does, it is worth nothing but its answers."""

import os
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from pagesim.exercises import get
from pagesim.exercises.case import Case
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.grading import marking
from pagesim.exercises.grading.marking import Marked
from pagesim.exercises.grading.submissions import Handed
from pagesim.exercises.problem import LEFT_IN
from tests.exercises.grading.attacks import INSIDE, PIPE
from tests.kernels.children import python

pytestmark = [pytest.mark.ch02, pytest.mark.usefixtures("warm")]

NIGHTLY = "PAGESIM_GRADE_ALL" in os.environ
MEMORY = "recursion without end"
"""It fills a gigabyte, which takes longer than most attacks together: `make nightly` tries it."""
SPOILS = {"a guard that reports success", "a file in JSON", "another case", *PIPE}
"""What an attack of these does may cost its own later answers as well."""


def few(exercise: Exercise) -> Callable[[random.Random, bool], Iterator[Case]]:
    """The first hidden cases: what is tried here is not the exercise."""
    return lambda rng, hidden: islice(exercise.cases(rng, hidden), 5)


def slots(*lines: str) -> str:
    """An answer to 2.1 of these lines."""
    return "\n    ".join(["def slots(table, n, b):", *lines])


def marked(tmp_path: Path, attack: str, seconds: float = 0.3) -> Marked:
    """Marks of a file whose answer to 2.1 is an attack, and whose answer to 5.1 is right."""
    first, second = (replace(e, cases=few(e)) for e in (get("2.1"), get("5.1")))
    tried = [replace(first, seconds=seconds), second]
    file = tmp_path / "mallory.py"
    file.write_text(second.solution + "\n\n" + attack)
    return marking.mark(Handed("mallory", file), tried)


@pytest.mark.parametrize("name", [name for name in {**INSIDE, **PIPE} if NIGHTLY or name != MEMORY])
def test_an_attack_is_worth_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack = (INSIDE | PIPE)[name]
    (said,) = re.findall("^# said: (.+)$", attack, re.M)
    late = said in ("its process was ended", "No answer after")
    if said == "its process was ended":
        monkeypatch.setattr(marking, "GRACE", 0.5)
    result = marked(tmp_path, attack, 0.1 if late else 0.3)
    attacked, honest = result.marks
    assert (attacked.number, attacked.points) == ("2.1", 0)
    assert said in attacked.feedback, attacked.feedback
    assert all(c.isprintable() or c == "\n" for c in attacked.feedback)
    if name not in SPOILS:
        assert (honest.number, honest.points) == ("5.1", honest.of), honest.feedback


@pytest.mark.parametrize("prints", ["pass", "os.write(1, b'x')", "print('x', file=sys.__stdout__)"])
def test_an_honest_answer_is_right_whatever_it_prints(prints: str, tmp_path: Path) -> None:
    right = "return [table[i // b] * b + i % b for i in range(n)]"
    result = marked(tmp_path, slots("import os, sys", prints, right), seconds=3.0)
    assert [mark.points for mark in result.marks] == [mark.of for mark in result.marks]


def test_a_stub_s_line_that_is_left_in_is_named(tmp_path: Path) -> None:
    left, _ = marked(tmp_path, slots("n = 1", "raise NotImplementedError()")).marks
    assert LEFT_IN in left.feedback


def test_without_a_sandbox_it_still_grades(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(get("2.1").solution)
    handed = Handed("ann", tmp_path / "x.py")
    tried = [replace(get("2.1"), cases=few(get("2.1")))]
    result = marking.mark(handed, tried, layers=())
    assert (result.marks[0].points, result.taken) == (1, ())


def test_the_seed_chooses_the_hidden_cases(tmp_path: Path) -> None:
    asked = []

    def cases(rng: random.Random, hidden: bool) -> Iterator[Case]:
        asked.append((rng.getstate() == random.Random(7).getstate(), hidden))
        return iter(())

    (tmp_path / "x.py").write_text("def slots(): ...")
    tried = [replace(get("2.1"), cases=cases)]
    marking.mark(Handed("ann", tmp_path / "x.py"), tried, seed=7)
    assert asked == [(True, True)]


NAIVE = """
import sys
from pagesim.exercises import get
names = {}
exec(open(sys.argv[1]).read(), names)
print("GRADE", bool(get("2.1").check(names["slots"])))
"""


def test_a_grader_in_the_same_process_is_fooled(tmp_path: Path) -> None:
    file = tmp_path / "mallory.py"
    file.write_text(INSIDE["checks that always agree"])
    assert python("-c", NAIVE, str(file)).stdout == "GRADE True\n"


def test_its_folder_is_gone_afterwards(tmp_path: Path) -> None:
    result = marked(tmp_path, slots("import os", "return os.getcwd()"))
    folder = result.marks[0].feedback.split("yours:    '")[1].split("'")[0]
    assert folder.startswith("/") and "pagesim-grade-" in folder
    assert not os.path.exists(folder)
