"""Grading a class: strangers' code, run where it can do no harm, against hidden cases.

``submissions`` finds the files, ``scan`` flags them; ``parent`` and ``child`` are the two ends of a
process in a ``sandbox`` (``landlock``, ``syscalls``), ``wire`` what goes between them; ``marking``
marks a file, ``report`` tells of all of them.
"""

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from pagesim.exercises.grading import report, sandbox
from pagesim.exercises.grading.marking import Marked, mark
from pagesim.exercises.grading.report import Report
from pagesim.exercises.grading.submissions import Handed, find
from pagesim.exercises.registry import exercises
from pagesim.simulation.progress import Progress, ProgressCallback
from pagesim.starting import INTERRUPTED

__all__ = ["Report", "grade"]


def grade(
    folder: str | Path,
    *,
    jobs: int = 1,
    seed: int = 0,
    progress: bool | ProgressCallback | None = False,
) -> Report:
    """Grade what a class handed in; the same files and seed give the same report.

    ``folder`` has one notebook or .py file per student, or one folder per student with several.
    """
    handed = list(find(Path(folder)))
    bar = Progress(progress, len(handed), "file", title="grading")
    marked = []
    with contextlib.closing(bar):
        for each in _marked(handed, jobs, functools.partial(_mark, seed=seed)):
            marked.append(each)
            bar(len(marked))
    return report.make(marked, exercises(), seed)


def _mark(handed: Handed, seed: int) -> Marked:
    try:
        return mark(handed, exercises(), seed)
    except KeyboardInterrupt:  # the pool would go on with the next file
        os._exit(INTERRUPTED)
    except Exception as error:  # one file must not cost the others their marks
        return Marked(handed, problem=f"the grader failed: {type(error).__name__}: {error}"[:300])


def _marked(
    handed: Sequence[Handed], jobs: int, work: Callable[[Handed], Marked]
) -> Iterator[Marked]:
    """Mark files in processes. One that a file takes down is followed by one for each file left."""
    left = {file.path: file for file in handed}
    with contextlib.suppress(BrokenProcessPool), _pool(jobs) as pool:
        for future in as_completed([pool.submit(work, file) for file in handed]):
            done = future.result()
            del left[done.handed.path]
            yield done
    for file in left.values():
        try:
            with _pool(1) as pool:
                yield pool.submit(work, file).result()
        except BrokenProcessPool:
            yield Marked(file, problem="it ended the grader's process")


def _pool(jobs: int) -> ProcessPoolExecutor:
    """Processes of the grader's own, which no other process of the same user may look into."""
    return ProcessPoolExecutor(jobs, get_context("spawn"), initializer=sandbox.guard_memory)
