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
@click.option("--jobs", type=Count(), default=1, show_default=True, help="Files graded at a time.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the hidden cases.")
@click.option("--csv", "table", type=OUTPUT_FILE, help="Also write a table for a spreadsheet.")
def grade(folder: Path, jobs: int, seed: int, table: Path | None) -> Answer:
    """Grade the submissions in DIR on hidden cases.

    DIR has a notebook or a .py file for each student, or a folder with several. Outputs in the
    notebooks do not count. Submissions run without network, files and other processes where the
    system can take these away; the first lines of the report say what was taken away.

    Exit code 0 when every file was graded, 1 when some could not be (the report names them), 2 when
    DIR has no submission.
    """
    from pagesim.exercises.grading import grade as grade_all
    from pagesim.files import replacing

    with blaming(folder):
        report = grade_all(folder, jobs=jobs, seed=seed, progress=None)
    if not report.students:
        raise BadInput(f"{folder} has no notebook, no .py file and no student's folder")
    if table is not None:
        with blaming(table), replacing(table) as file:
            file.write(report.csv().encode("utf-8-sig"))
    return Answer(report.ok, report.text(), report.as_dict())
