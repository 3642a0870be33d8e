"""A call that ends in time: by an alarm in the main thread, by another thread elsewhere.

Neither stops code in C; where that may run, :func:`last_resort` ends the process.
"""

import contextlib
import ctypes
import faulthandler
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeVar

AGAIN = 0.01
"""Seconds between two alarms: an answer that catches everything catches the first."""

R = TypeVar("R")


class TooSlow(BaseException):
    """Raised inside a call whose time is up; no Exception, which the student may catch."""


def within(seconds: float, run: Callable[[], R]) -> R:
    """``run()``; when the time is up, TooSlow is raised in it, again and again until it ends."""
    main = threading.current_thread() is threading.main_thread()
    by = _by_signal if main and hasattr(signal, "setitimer") else _by_thread
    return by(seconds, run)


@contextlib.contextmanager
def last_resort(seconds: float) -> Iterator[None]:
    """End this process if the block takes longer: code in C hears no alarm and no other thread."""
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def _by_signal(seconds: float, run: Callable[[], R]) -> R:
    def stop(number: int, frame: FrameType | None) -> None:
        if frame is None or frame.f_code is not _by_signal.__code__:  # it is over in there
            raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        return run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, before)


def _by_thread(seconds: float, run: Callable[[], R]) -> R:
    """Where no signal can be had (Windows, other threads): another thread raises it in this one."""
    over, raise_in = threading.Event(), ctypes.pythonapi.PyThreadState_SetAsyncExc
    this = ctypes.c_ulong(threading.get_ident())

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            raise_in(this, ctypes.py_object(TooSlow))
            wait = AGAIN

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        return run()
    finally:
        while not over.is_set():
            with contextlib.suppress(TooSlow):
                over.set()
        thread.join()
        raise_in(this, None)  # one that was still on its way
