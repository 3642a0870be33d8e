"""Writes files whole or not at all, and never over an input."""

import contextlib
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from pagesim.errors import UsageError

Handler = signal.Handlers | Callable[[int, FrameType | None], None]

_ENDS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_TEMPORARY: set[Path] = set()
"""Files to remove when a signal ends the process."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write, which replaces ``path`` when the block ends without an error.

    A link is followed to its file; a pipe or a device is written directly. An OSError always names
    ``path``.
    """
    try:
        if _is_special(path):
            with open(path, "wb") as file:
                yield file
            return
        target = Path(os.path.realpath(path))
        with temporary(target.with_name(f".{secrets.token_hex(8)}.part")) as part:
            with open(part, "xb") as file:
                yield file
            if target.exists():
                shutil.copymode(target, part)
            os.replace(part, target)
    except OSError as error:
        if error.errno is not None:
            error.filename = os.fspath(path)
            del error.filename2
        raise


@contextlib.contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """Remove ``path`` after the block, or when SIGINT, SIGTERM or SIGHUP ends the process.

    Signals are handled only in the main thread, and handlers that are already set take precedence.
    """
    if not _TEMPORARY:
        _handle(signal.SIG_DFL, _end)
    _TEMPORARY.add(path)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        _TEMPORARY.discard(path)
        if not _TEMPORARY:
            _handle(_end, signal.SIG_DFL)


def check_output(path: str | os.PathLike[str], *inputs: str | os.PathLike[str]) -> None:
    """UsageError if ``path`` cannot be written or is one of ``inputs`` under any name.

    Of an input that is a folder, everything in it is an input, and what its links lead to.
    """
    folder = Path(os.path.realpath(path)).parent
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder: name a file in it")
    if not folder.is_dir():
        raise UsageError(f"{path}: there is no folder {folder}: make it first")
    if not os.access(path if _is_special(path) else folder, os.W_OK):
        raise UsageError(f"{path}: the folder {folder} cannot be written to: choose another")
    for other in inputs:
        around = (folder, *folder.parents) if os.path.isdir(other) else ()
        if any(os.path.samefile(each, other) for each in around):
            raise UsageError(f"{path} is in the input {other}: name a file outside of it")
        for file in _files(other) if os.path.isfile(path) else ():
            if os.path.exists(file) and os.path.samefile(path, file):
                raise UsageError(
                    f"{path} is the input {file}, which would be lost: name another file"
                )


def _files(path: str | os.PathLike[str]) -> Iterator[str | os.PathLike[str]]:
    """A file itself, or all files of a folder."""
    if not os.path.isdir(path):
        yield path
    for parent, _, names in os.walk(path):
        yield from (os.path.join(parent, name) for name in names)


def _is_special(path: str | os.PathLike[str]) -> bool:
    """Whether it exists and is not a regular file: a pipe, a terminal, /dev/null."""
    return os.path.exists(path) and not os.path.isfile(path)


def _handle(before: Handler, after: Handler) -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _ENDS:
        if signal.getsignal(number) is before:
            signal.signal(number, after)


def _end(number: int, frame: FrameType | None) -> None:
    for path in _TEMPORARY:
        with contextlib.suppress(OSError):  # Windows: it is open
            path.unlink(missing_ok=True)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
