"""`pagesim grade`: a class's submissions, run in a sandbox and marked."""

from pathlib import Path

import click

from pagesim.commands.common import (
    INPUT_FOLDER,
    OUTPUT_FILE,
    Answer,
    BadInput,
    Count,
    answering,
    blaming,
)


@answering("pagesim grade submitted --jobs 4 --csv marks.csv")
@click.argument("folder", metavar="DIR", type=INPUT_FOLDER)
@click.option(
    "--jobs", type=Count(), default=1, show_default=True, help="How many files are graded at once."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the hidden cases.")
@click.option("--csv", "table", type=OUTPUT_FILE, help="Also write the marks as a CSV file.")
def grade(folder: Path, jobs: int, seed: int, table: Path | None) -> Answer:
    """Grade the submissions in DIR on hidden cases.

    For each student, DIR contains a notebook, a .py file, or a folder with several of them. Outputs
    in the notebooks do not count. Submissions run without network, files or other processes where
    the system can block these; the first lines of the report say what was blocked.

    Exit code 0 when every file was graded, 1 when some could not be (the report names them), 2 when
    DIR contains no submission.
    """
    from pagesim.exercises.grading import grade as grade_all
    from pagesim.files import replacing

    with blaming(folder):
        report = grade_all(folder, jobs=jobs, seed=seed, progress=None)
    if not report.students:
        raise BadInput(f"{folder} contains no submission: no notebook, .py file or student folder")
    if table is not None:
        with blaming(table), replacing(table) as file:
            file.write(report.csv().encode("utf-8-sig"))
    return Answer(report.ok, report.text(), report.as_dict())
