"""Submits cells to an executor, a few at a time, and returns finished ones in any order."""

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
from pagesim.studies.sweep.cells import Cell, CellResult, Function, failure, name_of, run_cell

IN_FLIGHT = 1024
"""The most unfinished cells on an executor whose number of workers is unknown."""

Numbered: TypeAlias = tuple[int, Cell]


class Runner:
    """Keeps an executor busy with at most ``in_flight`` cells; without one, a pool of processes.

    A cell may kill its worker (out of memory) together with others: a pool of processes then breaks
    as a whole, and Dask may blame a cell that merely waited at that worker. So each cell that the
    executor could not finish runs once more at the end, alone, and counts as failed only if that
    fails. The built-in pool is replaced when it breaks; for any other executor, the BrokenExecutor
    is raised.
    """

    def __init__(self, function: Function, executor: Executor | None, in_flight: int | None):
        self._function = function
        self._own = executor is None
        self._workers = _cores()
        self._executor = self._pool() if executor is None else executor
        self._limit = in_flight or (2 * self._workers if self._own else IN_FLIGHT)
        self._run, self._attempts = uuid.uuid4().hex, itertools.count()
        self._flying: dict[Future[CellResult], Numbered] = {}
        self._landed: SimpleQueue[Future[CellResult]] = SimpleQueue()
        self._suspects: deque[Numbered] = deque()
        self._alone = self._broken = False

    def fill(self, todo: Iterator[Numbered]) -> bool:
        """Submit as many cells as fit; returns False when all are done."""
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

    def finished(self) -> Iterator[CellResult]:
        """Wait for a cell to finish; yields that one and all others that have finished.

        There may be none: a cell that will run once more is not reported yet.
        """
        future = self._next()
        while True:
            yield from self._land(future)
            try:
                future = self._landed.get_nowait()
            except Empty:
                return

    def stop(self) -> list[CellResult]:
        """Start no more cells; returns the finished ones that were not fetched yet.

        Running cells of the built-in pool are waited for, those of other executors are abandoned.
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
            future = self._executor.submit(run_cell, self._function, *item, attempt)
        except BrokenExecutor:
            if not self._own:
                raise
            self._suspects.append(item)
            self._broken, self._alone = True, False
            return
        self._flying[future] = item
        future.add_done_callback(self._landed.put)

    def _next(self) -> Future[CellResult]:
        while True:
            try:
                # Only on POSIX does a signal end such a wait, so wake up from time to time.
                return self._landed.get(timeout=0.5)
            except Empty:
                continue

    def _land(self, future: Future[CellResult]) -> Iterator[CellResult]:
        index, cell = self._flying[future]
        was_alone, self._alone = self._alone, False
        outcome: CellResult | None = None
        try:
            outcome = future.result()
        except Exception as error:  # from the executor: a lost worker, a call that cannot be sent
            if isinstance(error, BrokenExecutor):
                if not self._own:
                    raise
                self._broken = True
            if was_alone:
                outcome = failure(index, cell, error)
            else:
                self._suspects.append((index, cell))
        if outcome is not None:
            yield outcome
        # Only now: until its outcome is stored, an interrupted cell must be there for stop().
        del self._flying[future]

    def _renew(self) -> None:
        self._executor.shutdown(wait=True)
        self._executor, self._broken = self._pool(), False

    def _pool(self) -> Executor:
        """A pool of spawned processes, tested for whether they can import the function."""
        name = name_of(self._function)
        other = "pass executor=ThreadPoolExecutor() or another that can run it"
        if name.startswith("__main__.") and not _main_can_be_imported():
            raise UsageError(
                f"{name}: a new process cannot import it: put it into a module, or {other}"
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
                f"script must sweep under `if __name__ == '__main__':`; or {other}"
            ) from error
        return pool


def _values(flying: list[tuple[Future[CellResult], Numbered]]) -> list[CellResult]:
    """The cells in ``flying`` that have ended with an outcome."""
    ended = [future for future, _ in flying if future.done() and not future.cancelled()]
    return [future.result() for future in ended if future.exception() is None]


def _die_silently() -> None:
    """Ctrl-C goes to every process of a terminal: let the workers end silently."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # unless it is ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _main_can_be_imported() -> bool:
    main = sys.modules["__main__"]
    return getattr(main, "__spec__", None) is not None or hasattr(main, "__file__")


def _cores() -> int:
    """The available cores; Windows can wait for at most 61 processes."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, 61) if sys.platform == "win32" else cores
