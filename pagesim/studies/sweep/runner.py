"""Hands cells to an executor, some at a time, and brings back what is finished, in any order."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import signal
import sys
import uuid
from collections import deque
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from queue import Empty, SimpleQueue
from typing import TypeAlias

from pagesim.errors import UsageError
from pagesim.studies.sweep.cells import Cell, CellOutcome, Function, failure, name_of, run_cell

IN_FLIGHT = 1024
"""Cells submitted and not finished, on an executor whose number of workers nobody tells."""

Numbered: TypeAlias = tuple[int, Cell]
Finished: TypeAlias = tuple[int, Cell, CellOutcome]


class Runner:
    """Keeps an executor busy with at most ``in_flight`` cells; without one, a pool of processes.

    A cell may kill its worker (no memory left) and take others along: a pool of processes then
    breaks as a whole, and Dask may blame a cell that merely waited at that worker. So each cell
    that the executor could not finish runs once more at the end, alone, and only what fails then
    has failed. Our own pool is made anew when it breaks; another's cannot be, and its
    BrokenExecutor is raised.
    """

    def __init__(self, function: Function, executor: Executor | None, in_flight: int | None):
        self._function = function
        self._own = executor is None
        self._workers = _cores()
        self._executor = self._pool() if executor is None else executor
        self._limit = in_flight or (2 * self._workers if self._own else IN_FLIGHT)
        self._run, self._attempts = uuid.uuid4().hex, itertools.count()
        self._flying: dict[Future[CellOutcome], Numbered] = {}
        self._landed: SimpleQueue[Future[CellOutcome]] = SimpleQueue()
        self._suspects: deque[Numbered] = deque()
        self._alone = self._broken = False

    def fill(self, todo: Iterator[Numbered]) -> bool:
        """Submit what there is room for; False when all is done."""
        while len(self._flying) < self._limit and not self._alone:
            if self._broken:
                if self._flying:
                    break
                self._renew()
            item = next(todo, None)
            if item is None:
                if self._flying or not self._suspects:
                    break
                item, self._alone = self._suspects.popleft(), True
            self._submit(item)
        return bool(self._flying)

    def finished(self) -> Iterator[Finished]:
        """Wait for a cell to finish; then that one and all others that have.

        There may be none: of a cell that is to run once more nothing is said.
        """
        future = self._next()
        while True:
            yield from self._land(future)
            try:
                future = self._landed.get_nowait()
            except Empty:
                return

    def stop(self) -> list[Finished]:
        """Begin no more; what has been computed and not been kept is returned.

        Cells under way in our own pool are waited for, in another's they are let go.
        """
        flying = list(self._flying.items())
        kept = [] if self._own else _values(flying)
        for future, _ in flying:
            future.cancel()
        if self._own:
            self._executor.shutdown(wait=True, cancel_futures=True)
            kept = _values(flying)
        self._flying.clear()
        return kept

    def _submit(self, item: Numbered) -> None:
        attempt = f"{self._run}-{next(self._attempts)}"
        try:
            future = self._executor.submit(run_cell, self._function, item[1], attempt)
        except BrokenExecutor:
            if not self._own:
                raise
            self._suspects.append(item)
            self._broken, self._alone = True, False
            return
        self._flying[future] = item
        future.add_done_callback(self._landed.put)

    def _next(self) -> Future[CellOutcome]:
        while True:
            try:
                # Python promises that a signal ends such a wait on POSIX only: look up at times.
                return self._landed.get(timeout=0.5)
            except Empty:
                continue

    def _land(self, future: Future[CellOutcome]) -> Iterator[Finished]:
        index, cell = self._flying[future]
        was_alone, self._alone = self._alone, False
        outcome: CellOutcome | None = None
        try:
            outcome = future.result()
        except Exception as error:  # the executor's own: a worker lost, a call that cannot travel
            if isinstance(error, BrokenExecutor):
                if not self._own:
                    raise
                self._broken = True
            if was_alone:
                outcome = failure(error)
            else:
                self._suspects.append((index, cell))
        if outcome is not None:
            yield index, cell, outcome
        # Only now: what is interrupted before its outcome is kept is still there for stop().
        del self._flying[future]

    def _renew(self) -> None:
        self._executor.shutdown(wait=True)
        self._executor, self._broken = self._pool(), False

    def _pool(self) -> Executor:
        """Processes that are started afresh on every system, once seen to know the function."""
        name = name_of(self._function)
        other = "pass executor=ThreadPoolExecutor() or another that can run it"
        if name.startswith("__main__.") and not _main_can_be_imported():
            raise UsageError(
                f"{name}: a new process cannot know it: put it into a module, or {other}"
            )
        try:
            pickle.dumps(self._function)
        except Exception as error:
            raise UsageError(f"{name} cannot be sent to a process ({error}): {other}") from error
        pool = ProcessPoolExecutor(
            self._workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_die_silently,
        )
        try:
            pool.submit(callable, self._function).result()
        except BrokenExecutor as error:
            pool.shutdown()
            raise UsageError(
                f"a new process ends before it runs {name}: it must be importable there, and a "
                f"script must sweep below `if __name__ == '__main__':`; or {other}"
            ) from error
        return pool


def _values(flying: list[tuple[Future[CellOutcome], Numbered]]) -> list[Finished]:
    """Those of ``flying`` that have ended with an outcome."""
    ended = [(future, item) for future, item in flying if future.done() and not future.cancelled()]
    return [
        (index, cell, future.result())
        for future, (index, cell) in ended
        if future.exception() is None
    ]


def _die_silently() -> None:
    """Ctrl-C goes to every process of a terminal: the workers end without a word of their own."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not one that is ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _main_can_be_imported() -> bool:
    main = sys.modules["__main__"]
    return getattr(main, "__spec__", None) is not None or hasattr(main, "__file__")


def _cores() -> int:
    """The cores we may use; Windows waits for no more than 61 processes."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, 61) if sys.platform == "win32" else cores
