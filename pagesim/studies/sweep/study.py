"""A sweep: a function on every cell of a grid, on any executor, interruptible at any time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.progress import Progress, ProgressCallback
from pagesim.studies.sweep.cells import CellResult, Cells, Function, Grid
from pagesim.studies.sweep.output import SweepFile
from pagesim.studies.sweep.runner import Runner
from pagesim.studies.sweep.simulations import simulate_cell

MOST = 1_000_000
"""The most cells of a sweep: the file's header needs all of them, and all results are kept."""


class Sweep:
    """The cells of a grid and their results so far; made by ``sweep``.

    Iterating over it runs the cells and gives a ``CellResult`` for each as it finishes, known ones
    first. After ``break`` or Ctrl-C, another loop continues: finished cells are not run twice. All
    results stay in memory, about 1 kB for a value of ten numbers.
    """

    def __init__(
        self,
        cells: Cells,
        function: Function,
        executor: Executor | None,
        file: SweepFile | None,
        progress: bool | ProgressCallback | None,
        in_flight: int | None,
    ) -> None:
        self._cells, self._function, self._executor = cells, function, executor
        self._file, self._progress, self._in_flight = file, progress, in_flight
        self._known = {} if file is None else dict(file.done)
        self._running = False

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[CellResult]:
        yield from list(self._known.values())
        if len(self._known) < len(self._cells):
            yield from self._run()

    def run(self) -> Sweep:
        """Run all remaining cells and return the sweep itself."""
        for _ in self:
            pass
        return self

    @property
    def results(self) -> list[CellResult]:
        """The cells that have a value so far, in the order of the grid."""
        return [result for _, result in sorted(self._known.items()) if result.ok]

    @property
    def failures(self) -> list[CellResult]:
        """The cells that have failed so far, in the order of the grid."""
        return [result for _, result in sorted(self._known.items()) if not result.ok]

    def __repr__(self) -> str:
        failures, known = self.failures, len(self._known)
        lines = [
            f"sweep of {len(self)} cells: {known - len(failures)} done, "
            f"{len(failures)} failed, {len(self) - known} to do"
        ]
        lines += [f"  cell {one.index} {one.cell}: {one.error}" for one in failures[:5]]
        if len(failures) > 5:
            lines.append(f"  and {len(failures) - 5} more in .failures")
        if failures:
            lines.append(str(failures[0]).rstrip())
        return "\n".join(lines)

    def _run(self) -> Iterator[CellResult]:
        if self._running:
            raise UsageError("this sweep is already running: leave the other loop over it first")
        self._running = True
        todo = ((i, cell) for i, cell in enumerate(self._cells) if i not in self._known)
        runner: Runner | None = None
        progress: Progress | None = None
        try:
            runner = Runner(self._function, self._executor, self._in_flight)
            if self._file is not None:
                self._file.open()
            progress = Progress(self._progress, len(self._cells), "cell", done=len(self._known))
            while runner.fill(todo):
                # All results are stored before the first is yielded: a slow loop, or one that is
                # left, loses none and keeps no worker waiting.
                batch = [self._keep(one, progress) for one in runner.finished()]
                runner.fill(todo)
                yield from batch
        finally:
            self._running = False
            try:
                for one in runner.stop() if runner is not None else ():
                    if one.index not in self._known:
                        self._keep(one, None)
            finally:
                if self._file is not None:
                    self._file.close()
                if progress is not None:
                    progress.close()

    def _keep(self, result: CellResult, progress: Progress | None) -> CellResult:
        if self._file is not None:
            self._file.add(result)
        self._known[result.index] = result
        if progress is not None:
            progress(len(self._known))
            if not result.ok:
                progress.fail(f"cell {result.index} {result.cell}: {result.error}")
        return result


def sweep(
    grid: Grid,
    function: Function | None = None,
    *,
    executor: Executor | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | ProgressCallback | None = None,
    in_flight: int | None = None,
) -> Sweep:
    """Run ``function(**cell)`` on every cell of ``grid``, locally or on a cluster, resumably.

    ``grid`` maps names to lists of values, and the cells are all combinations, the last name
    changing fastest; or it is a list of dicts, one per cell; `MOST` cells at most. ``function``
    returns a JSON-serialisable dict; by default each cell is a simulation (``simulate_cell``).
    Nothing runs before the first loop over the result, or its ``run()``:

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> def area(width: int, height: int) -> dict[str, int]:
    ...     return {"area": width * height}
    >>> with ThreadPoolExecutor() as pool:
    ...     study = sweep({"width": [1, 2], "height": [3, 4]}, area, executor=pool).run()
    >>> [one.cell | one.value for one in study.results][2:]
    [{'width': 2, 'height': 3, 'area': 6}, {'width': 2, 'height': 4, 'area': 8}]
    >>> study
    sweep of 4 cells: 4 done, 0 failed, 0 to do

    ``executor`` is any ``concurrent.futures.Executor``; None means a process for each core, for
    functions that a new process can import. For a Dask cluster, pass ``client.get_executor()``. For
    MPI, as described in the documentation of mpi4py.futures (not tested here), pass an
    ``MPIPoolExecutor()`` under ``if __name__ == "__main__":`` in a script, and start that with
    ``mpiexec -n 4 python -m mpi4py.futures script.py``: one master and three workers.

    A cell that raises an exception becomes a result with ``error`` and ``traceback``; the others
    continue. ``out`` names a file of JSON lines, one for each finished cell; a sweep of the same
    grid and function resumes from it and retries failed cells. The file identifies a function by
    its name: if its code has changed, start another file. Ctrl-C leaves the file and the results
    usable. A second sweep that tries to write to the file at the same time is refused.

    ``progress`` is True for a bar, a function called with (finished, all) cells, False for
    nothing, None for a bar on a terminal. ``in_flight`` limits the cells submitted at a time: by
    default 2 per process of the built-in pool, and 1,024 elsewhere. TypeError or UsageError names
    the bad argument.
    """
    function = simulate_cell if function is None else function
    if not callable(function):
        raise TypeError(f"function must be callable with a cell's names, not {function!r}")
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(
            f"executor must be a concurrent.futures.Executor, not {executor!r}; for a Dask client, "
            "pass client.get_executor()"
        )
    if in_flight is not None:
        check_int("in_flight", in_flight, minimum=1)
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress must be True, False, None or a function, not {progress!r}")
    cells = Cells(grid)
    if cells.num_cells > MOST:
        raise UsageError(
            f"the grid has {cells.num_cells:,} cells, more than the {MOST:,} of a sweep: divide it"
        )
    file = None if out is None else SweepFile(out, function, cells)
    return Sweep(cells, function, executor, file, progress, in_flight)
