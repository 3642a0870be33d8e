"""A sweep: a function on every cell of a grid, on any executor, into a file that can be resumed."""

import os
import signal
import uuid
from collections import deque
from collections.abc import Iterator
from concurrent import futures
from contextlib import ExitStack
from dataclasses import asdict
from multiprocessing import get_context

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.simulation.cell import simulate_cell
from pagesim.simulation.progress import Progress, ProgressCallback, check_progress
from pagesim.studies.cells import CellResult, Function, Grid, cells_of, failure, run_cell
from pagesim.studies.sweep_file import SweepFile


class Sweep:
    """``function(**cell)`` on every cell of ``grid``, locally or on a cluster, resumably.

    ``grid`` maps names to lists of values. Its cells are all combinations of the values; the last
    name changes fastest. Or ``grid`` is a list of dicts, one per cell. ``function`` returns a dict
    that JSON can hold. A loop over the sweep, or its ``run()``, runs the cells and yields a
    ``CellResult`` for each cell that finishes, beginning with those of an earlier run. After
    ``break`` or Ctrl-C, another loop continues:

    >>> def area(width: int, height: int) -> dict[str, int]:
    ...     return {"area": width * height}
    >>> with futures.ThreadPoolExecutor() as pool:
    ...     study = sweep({"width": [1, 2], "height": [3, 4]}, area, executor=pool).run()
    >>> [one.cell | one.value for one in study.results][2:]
    [{'width': 2, 'height': 3, 'area': 6}, {'width': 2, 'height': 4, 'area': 8}]

    ``executor`` is any ``concurrent.futures.Executor``, such as a Dask ``client.get_executor()``;
    None starts one process per core; the function must then be importable in a new process. A cell
    that raises becomes a result with ``error`` and ``traceback``; the others continue.

    ``out`` names a file of JSON lines, one for each finished cell. A later sweep with the same
    function and these cells, or more, resumes from the file and retries the cells that failed. If
    the function's code has changed, start another file. Two sweeps cannot write one file.

    ``progress=True`` shows a bar, None shows it only on a terminal, and False shows nothing; a
    function is called with the number of finished cells and of all cells. ``in_flight`` is the
    maximum number of cells submitted at a time. TypeError or UsageError names the bad argument.
    """

    def __init__(
        self,
        grid: Grid,
        function: Function = simulate_cell,
        *,
        executor: futures.Executor | None = None,
        out: str | os.PathLike[str] | None = None,
        progress: bool | ProgressCallback | None = None,
        in_flight: int = 1024,
    ) -> None:
        check_int("in_flight", in_flight, minimum=1)
        check_progress(progress)
        if not callable(function):
            raise TypeError(f"function must be callable with a cell's names, not {function!r}")
        if executor is not None and not isinstance(executor, futures.Executor):
            raise TypeError(
                f"executor must be a concurrent.futures.Executor, not {executor!r}; for a Dask "
                "client, pass client.get_executor()"
            )
        self._function, self._executor, self._in_flight = function, executor, in_flight
        self._progress, self._cells = progress, cells_of(grid)
        self._known: dict[int, CellResult] = {}
        self._file = None if out is None else SweepFile(out, function, self._cells)
        if self._file is not None and os.path.exists(self._file.path):
            self._file.take(self._known)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[CellResult]:
        with ExitStack() as stack:
            if self._file is not None and len(self._known) < len(self):
                self._file.open(self._known, stack)
            yield from list(self._known.values())
            if len(self._known) < len(self):
                yield from self._run(stack)

    def run(self) -> "Sweep":
        """Run all remaining cells and return the sweep itself."""
        deque(self, maxlen=0)
        return self

    @property
    def results(self) -> list[CellResult]:
        """The cells that have a value so far, in the order of the grid."""
        return [one for _, one in sorted(self._known.items()) if one.ok]

    @property
    def failures(self) -> list[CellResult]:
        """The cells that have failed so far, in the order of the grid."""
        return [one for _, one in sorted(self._known.items()) if not one.ok]

    def __repr__(self) -> str:
        failed, left = self.failures, len(self) - len(self._known)
        lines = [f"{len(self.results)} done, {len(failed)} failed, {left} to do"]
        lines += [f"  cell {one.index} {one.cell}: {one.error}" for one in failed[:5]]
        lines += [f"  and {len(failed) - 5} more in .failures"] if failed[5:] else []
        lines += [str(one).rstrip() for one in failed[:1]]
        return f"sweep of {len(self)} cells: " + "\n".join(lines)

    def _run(self, stack: ExitStack) -> Iterator[CellResult]:
        progress = Progress(self._progress, len(self), "cell", done=len(self._known))
        stack.callback(progress.close)
        flying: dict[futures.Future[CellResult], tuple[int, futures.Executor]] = {}

        def leave() -> None:
            """Start no more cells, and keep those that have ended."""
            for future, (index, _) in flying.items():
                left = future.cancel() or not future.done() or future.exception() is not None
                if not left and index not in self._known:
                    self._keep(future.result(), progress)

        stack.callback(leave)
        todo = deque(index for index in range(len(self)) if index not in self._known)
        places = [self._executor] * self._in_flight if self._executor else self._processes(stack)
        ended: list[CellResult] = []
        while todo or flying:
            while todo and places:
                pool, index = places.pop(), todo.popleft()
                call = (self._function, index, self._cells[index], uuid.uuid4().hex)
                flying[pool.submit(run_cell, *call)] = index, pool
            # All are kept before the first is given: a slow loop, or one that is left, loses none.
            yield from ended
            ended = []
            for future in futures.wait(flying, 0.5, futures.FIRST_COMPLETED).done:
                index, pool = flying[future]
                try:
                    result = future.result()
                except Exception as error:  # a lost worker, a call that cannot be sent
                    if isinstance(error, futures.BrokenExecutor):
                        if self._executor is not None:
                            raise
                        pool = stack.enter_context(_process())
                    result = failure(index, self._cells[index], error)
                ended.append(self._keep(result, progress))
                places.append(pool)
                del flying[future]
        yield from ended

    def _keep(self, result: CellResult, progress: Progress) -> CellResult:
        if self._file is not None:
            self._file.write(asdict(result))
        self._known[result.index] = result
        progress(len(self._known))
        if not result.ok:
            progress.fail(f"cell {result.index} {result.cell}: {result.error}")
        return result

    def _processes(self, stack: ExitStack) -> list[futures.Executor]:
        """A process for each core, each in a pool of its own, which no other's cell can break."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        number = min(cores or 1, self._in_flight, len(self) - len(self._known))
        pools: list[futures.Executor] = [stack.enter_context(_process()) for _ in range(number)]
        try:
            pools[0].submit(callable, self._function).result()
        except Exception as error:
            raise UsageError(
                f"a new process cannot run {self._function!r} ({error}): the function must be "
                "importable there, and a script must call sweep under `if __name__ == "
                "'__main__':`. Or pass an executor that can run it, such as ThreadPoolExecutor()"
            ) from error
        return pools


sweep = Sweep


def _process() -> futures.ProcessPoolExecutor:
    """One new process. Ctrl-C goes to every process of a terminal: let it end silently."""
    return futures.ProcessPoolExecutor(
        1, get_context("spawn"), initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_DFL)
    )
