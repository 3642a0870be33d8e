"""How a run tells that it goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int], None]
"""Told how many requests are done, finished or ignored."""

Watcher = Callable[[int, int], None]
"""Told how many requests are done, and of how many."""


def no_progress(done: int) -> None:
    """For runs without a watcher."""


@contextmanager
def shown(progress: bool | Watcher | None, total: int, title: str) -> Iterator[Progress]:
    """What an engine should call: a bar on stderr, a function of yours, or nothing.

    True always draws the bar, False never, None only on a terminal.
    """
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield no_progress
    elif callable(progress):
        watcher = progress
        yield lambda done: watcher(done, total)
    else:
        from tqdm import tqdm  # type: ignore[import-untyped]

        with tqdm(total=total, desc=title, unit=" requests") as bar:
            yield lambda done: bar.update(done - bar.n)
