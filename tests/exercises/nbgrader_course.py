"""A course in nbgrader from beginning to end, in a process of its own: it starts slowly, once.

    python nbgrader_course.py COURSE NAME ANSWERS

``ANSWERS`` is JSON: student → id of a cell → its source. Prints the scores as JSON.
"""

import json
import logging
import sys
from pathlib import Path

import nbformat
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

ASSIGNMENT = "ex"


def submit(course: Path, student: str, name: str, answers: dict[str, str]) -> None:
    """The released notebook with a student's answers."""
    released = nbformat.read(course / "release" / ASSIGNMENT / name, as_version=4)
    for cell in released.cells:
        cell.source = answers.get(cell.get("id", ""), cell.source)
    folder = course / "submitted" / student / ASSIGNMENT
    folder.mkdir(parents=True)
    nbformat.write(released, folder / name)


def main(course: Path, name: str, answers: dict[str, dict[str, str]]) -> None:
    logging.basicConfig(level=logging.WARNING)
    config = Config()
    config.CourseDirectory.root = str(course)
    api = NbGraderAPI(config=config)
    results = [api.generate_assignment(ASSIGNMENT)]
    for student, given in answers.items():
        submit(course, student, name, given)
        results.append(api.autograde(ASSIGNMENT, student))
        results.append(api.generate_feedback(ASSIGNMENT, student))
    failed = [result for result in results if not result["success"]]
    if failed:
        sys.exit("\n".join(result["log"] for result in failed))
    with api.gradebook as gradebook:
        found = {s: gradebook.find_submission(ASSIGNMENT, s) for s in answers}
        scores = {s: (each.score, each.max_score) for s, each in found.items()}
    print(json.dumps({"scores": scores, "log": "".join(result["log"] for result in results)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
