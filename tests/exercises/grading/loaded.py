"""What runs in forked processes: a submission, and files that take down the grader's process."""

import json
import os
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from pagesim.exercises import all as exercises
from pagesim.exercises.deadline import last_resort
from pagesim.exercises.grading.child import main
from pagesim.exercises.grading.marking import Mark, Marked
from pagesim.exercises.grading.submissions import Handed

RIGHT = Mark("2.1", 1, 1)

exercises()  # in the process that others are forked from


def begin(cases: Connection, answers: Connection, command: Sequence[str], **given: Any) -> None:
    """Become what the command would have started."""
    os.setsid()
    os.chdir(given["cwd"])
    os.environ.clear()
    os.environ.update(given["env"])
    os.dup2(cases.fileno(), 0)
    os.dup2(answers.fileno(), 1)
    os.closerange(3, 256)
    main(json.loads(command[-1]))


def ends_the_grader(handed: Handed) -> Marked:
    """A file that ends the process that grades it, as on a system without a sandbox."""
    if handed.student == "mallory":
        os._exit(9)
    return Marked(handed, (RIGHT,))


def is_never_done(handed: Handed) -> Marked:
    """A file that keeps the grader in C, where no alarm is heard."""
    if handed.student == "mallory":
        with last_resort(0.3):
            sum(range(10**13))
    return Marked(handed, (RIGHT,))
