"""Ctrl-C while the `pagesim` command is still being imported: exit code 130, as at any later time.

Imports take a few tenths of a second, in which KeyboardInterrupt would be a traceback through them.
Where pagesim is a library, nothing is changed. The interpreter's own start (some 15 ms, before it
looks for pagesim) is not covered.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

INTERRUPTED = 130
"""What a shell reports of a program that Ctrl-C has ended."""


def _is_command() -> bool:
    """Whether this process was started as `pagesim` or as `python -m pagesim`."""
    if sys.argv[:1] == ["-m"]:  # the module is still being looked for
        return "-m pagesim" in " ".join(sys.orig_argv)
    return bool(sys.argv) and Path(sys.argv[0]).stem == "pagesim"


def started() -> None:
    """The command can look after Ctrl-C itself: it is a KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    os._exit(INTERRUPTED)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_command():
    signal.signal(signal.SIGINT, _leave)
