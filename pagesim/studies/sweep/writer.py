"""Ensures that a sweep's file has one writer at a time; a second one is told about the first."""

from __future__ import annotations

import errno
import os
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from io import FileIO
from pathlib import Path

from pagesim.errors import UsageError
from pagesim.files import temporary

BEYOND = 2**31 - 2
"""The byte that is locked on Windows: one that no reader of the file reads."""


@contextmanager
def only_writer(file: FileIO, path: Path) -> Iterator[None]:
    """Hold the lock on ``file``, which is open at ``path``. UsageError names the present holder.

    The system releases the lock when its process ends for any reason. A file beside ``path`` names
    the holder. If the file system has no locks, there is a warning.
    """
    target = Path(os.path.realpath(path))
    note = target.with_name(f".{target.name}.writer")
    try:
        _lock(file.fileno())
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise UsageError(
                f"{path} is being written by {_holder(note)}: wait until it ends, or give out "
                "another name"
            ) from None
        warnings.warn(
            f"{path} cannot be locked ({error}): make sure that nothing else writes to it",
            stacklevel=5,
        )
    with temporary(note):
        since = datetime.now().astimezone().isoformat(" ", "seconds")
        note.write_text(f"process {os.getpid()} on {socket.gethostname()} since {since}")
        yield


def _holder(note: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        if text := note.read_text():
            return text
    return "another process"


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, BEYOND, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
