"""What must be so while pagesim is still being imported: Ctrl-C, and where two folders are.

Ctrl-C ends the `pagesim` command with exit code 130 even then. Imports take a few tenths of a
second, in which KeyboardInterrupt would print a traceback through them. When pagesim is used as a
library, nothing changes. The start of the interpreter itself (about 15 ms, before it looks for
pagesim) is not covered.

In a clone ``kernels/`` and ``figures/`` lie beside ``pagesim/``; a wheel has them inside. The
folders hold no ``__init__.py``, and what would stand there is ``pagesim/kernels.py``. So Python
never takes them for packages of their own: in a clone too, ``import kernels`` finds the
distribution of that name if there is one (transformers uses it).
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


def beside(module: str) -> list[str]:
    """The ``__path__`` of the package whose ``__init__`` is the file ``module``."""
    inside = Path(module).with_suffix("")
    return [str(inside if inside.is_dir() else inside.parents[1] / inside.name)]


if signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_command():
    signal.signal(signal.SIGINT, _leave)
