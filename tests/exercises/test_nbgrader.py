"""nbgrader with the notebook of one chapter: generate, autograde and feedback.

It starts slowly and moves its database by a program: `make nightly` runs it (PAGESIM_GRADE_ALL).
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pagesim import exercises
from pagesim.exercises import notebooks
from tests.kernels.children import python

CHAPTER = 1
CHILD = Path(__file__).with_name("nbgrader_course.py")
NAME = notebooks.file_name(CHAPTER)
OURS = [exercise for exercise in exercises.all() if exercise.chapter == CHAPTER]
IDS = [f"answer-{exercise.number.replace('.', '-')}" for exercise in OURS]


pytestmark = pytest.mark.skipif("PAGESIM_GRADE_ALL" not in os.environ, reason="make nightly")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course in which ada has all right, and ben the first one wrong and the rest blank."""
    pytest.importorskip("nbgrader", reason='pip install "pagesim[grade]"')
    root = tmp_path_factory.mktemp("course")
    notebooks.write(root / "source" / "ex", [CHAPTER], solutions=True)
    wrong = f"def {OURS[0].name}(*_):\n    return 'no idea'"
    ada = {cell: exercise.solution for cell, exercise in zip(IDS, OURS, strict=True)}
    answers = json.dumps({"ada": ada, "ben": {IDS[0]: wrong}})
    places = {f"JUPYTER_{name}_DIR": str(root / "jupyter") for name in ("CONFIG", "DATA")}
    # It calls alembic, a program beside Python that is on the PATH only in an activated venv.
    places["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = python(CHILD, root, NAME, answers, cwd=root, HOME=str(root), **places)
    assert done.returncode == 0, done.stderr[-3000:]
    (root / "said.json").write_text(done.stdout.splitlines()[-1])
    return root


def sources(path: Path) -> dict[str, str]:
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in read["cells"]}


def test_its_release_is_ours(course: Path, tmp_path: Path) -> None:
    (ours,) = notebooks.write(tmp_path, [CHAPTER])
    assert sources(course / "release" / "ex" / NAME) == sources(ours)


def test_the_scores_are_those_of_the_answers(course: Path) -> None:
    said = json.loads((course / "said.json").read_text())
    points = sum(exercise.points for exercise in OURS)
    assert said["scores"] == {"ada": [points, points], "ben": [0, points]}
    assert "cannot be converted" not in said["log"], "a verdict is taken for a grade"


def test_the_feedback_holds_the_counterexample(course: Path) -> None:
    page = Path("ex") / NAME.replace(".ipynb", ".html")
    ada, ben = ((course / "feedback" / who / page).read_text() for who in ("ada", "ben"))
    assert "no idea" in ben and f"{OURS[0].number} {OURS[0].title}: wrong" in ben
    assert f"{OURS[1].title}: not written yet" in ben and ": wrong" not in ada
