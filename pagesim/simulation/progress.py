"""The progress of a simulation or a sweep: a bar on stderr, a callback, or nothing."""

import sys
from collections.abc import Callable
from typing import Any

ProgressCallback = Callable[[int, int], None]
"""Called with the number of finished requests or cells, and the total."""


def check_progress(how: bool | ProgressCallback | None) -> None:
    """TypeError unless `Progress` can report so."""
    if how is not None and not isinstance(how, bool) and not callable(how):
        raise TypeError(f"progress must be True, False, None or a function, not {how!r}")


class Progress:
    """Called with the number that is done; reports it as ``how`` says.

    True always draws a bar, False never, None only on a terminal; a function is called instead.
    """

    def __init__(
        self,
        how: bool | ProgressCallback | None,
        total: int,
        unit: str,
        *,
        title: str | None = None,
        done: int = 0,
    ) -> None:
        self._total, self._failed = total, 0
        self._report = how if callable(how) else None
        self._bar: Any = None
        if how is True or (how is None and sys.stderr is not None and sys.stderr.isatty()):
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, initial=done, desc=title, unit=unit)

    def __call__(self, done: int) -> None:
        if self._report is not None:
            self._report(done, self._total)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def fail(self, why: str) -> None:
        """Count a failure in the bar, and show the reason above it."""
        if self._bar is not None:
            self._failed += 1
            self._bar.set_postfix(failed=self._failed, refresh=False)
            self._bar.write(why, sys.stderr)

    def close(self) -> None:
        """Finish the bar, which stays visible."""
        if self._bar is not None:
            self._bar.close()
