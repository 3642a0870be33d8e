"""Makes Ctrl-C end the `pagesim` command with exit code 130 even while it is being imported.

Imports take a few tenths of a second, in which KeyboardInterrupt would print a traceback through
them. When pagesim is used as a library, nothing changes. The start of the interpreter itself (about
15 ms, before it looks for pagesim) is not covered.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType

INTERRUPTED = 130
"""The exit code that a shell reports for a program ended by Ctrl-C."""


def _is_command() -> bool:
    """Whether this process was started as `pagesim` or as `python -m pagesim`."""
    if sys.argv[:1] == ["-m"]:  # Python is still looking for the module
        return "-m pagesim" in " ".join(sys.orig_argv)
    return bool(sys.argv) and Path(sys.argv[0]).stem == "pagesim"


def started() -> None:
    """From here on the command handles Ctrl-C itself: it raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_command():
    signal.signal(signal.SIGINT, _leave)
