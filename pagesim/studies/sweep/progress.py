"""How far a sweep is: a bar, a function of the caller's, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from pagesim.studies.sweep.cells import CellResult


class Progress:
    """Told of every finished cell. ``how`` is as in ``sweep``; None is a bar on a terminal."""

    def __init__(self, how: bool | Callable[[int, int], None] | None, total: int, done: int):
        self._total, self._done, self._failed = total, done, 0
        self._tell = how if callable(how) else None
        self._bar: Any = None
        if how is True or (how is None and sys.stderr.isatty()):
            from tqdm.auto import tqdm  # type: ignore[import-untyped]

            self._bar = tqdm(total=total, initial=done, unit="cell")

    def add(self, result: CellResult) -> None:
        """One more cell is finished; what a failed one said is shown above the bar."""
        self._done += 1
        if self._tell is not None:
            self._tell(self._done, self._total)
        if self._bar is not None:
            if not result.ok:
                self._failed += 1
                self._bar.set_postfix(failed=self._failed, refresh=False)
                self._bar.write(f"cell {result.index} {result.cell}: {result.error}", sys.stderr)
            self._bar.update()

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()
