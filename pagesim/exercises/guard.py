"""One call of a student's function: whatever happens in it is an answer.

An exception, an exit, a changed argument and a loop without end are named; only Ctrl-C goes
through, for it is the student's own.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import io
import linecache
import signal
import sysconfig
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from pagesim.exercises.case import Case
from pagesim.exercises.values import is_data, plain, shown

Call = Callable[[Callable[..., Any], Case], Any]

NOT_WRITTEN = "The function is not written yet."
MAX_PRINTED = 2000
AGAIN = 0.001
"""Seconds between two alarms: an answer that catches everything catches the first."""
_OURS = [str(Path(__file__).parents[1])]
_OTHERS = [sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")]


@dataclass(frozen=True)
class Answer:
    """What came of a call: a value in Python's own types, or the sentence that says why not."""

    value: Any = None
    problem: str = ""
    printed: str = ""


class TooSlow(BaseException):
    """Raised inside a call whose time is up; no Exception, which the student may catch."""


def call_plainly(function: Callable[..., Any], case: Case) -> Any:
    """How most answers are tried: a call with the arguments of the case."""
    return function(*case.args)


def attempt(
    function: Callable[..., Any], case: Case, call: Call = call_plainly, seconds: float = 2.0
) -> Answer:
    """Call a student's function on copies of the arguments, for at most ``seconds``."""
    given = Case(copy.deepcopy(case.args), case.told, case.tag)
    printed = _Printed()
    problem, value = "", None
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            value = _timed(seconds, lambda: plain(call(function, given)))
        problem = _changed(case, given)
    except KeyboardInterrupt:
        raise
    except TooSlow:
        problem = f"No answer after {seconds:g} s: is there a loop that never ends?"
    except BaseException as error:  # SystemExit, too
        problem = _named(_inner(error), function)
    return Answer(value, problem, printed.text)


def _changed(case: Case, given: Case) -> str:
    """One sentence if the call changed what it was given."""
    for place, (before, after) in enumerate(zip(case.args, given.args, strict=True), start=1):
        before, after = plain(before), plain(after)
        if is_data(before) and repr(before) != repr(after):  # repr: a NaN is like itself
            return (
                f"The function changed its argument {place} from {shown(before, 80)} to "
                f"{shown(after, 80)}: work on a copy."
            )
    return ""


def _inner(error: BaseException) -> BaseException:
    """What was raised in a kernel: Triton's interpreter wraps it."""
    cause = error.__cause__
    return cause if type(error).__name__ == "InterpreterError" and cause is not None else error


def _named(error: BaseException, function: Callable[..., Any]) -> str:
    """The exception, and the student's own line that it came from."""
    if isinstance(error, NotImplementedError) and not error.args:
        return NOT_WRITTEN
    if type(error).__module__ == "triton.compiler.errors":
        return _not_compiled(error)
    said = f"{type(error).__name__}: {error}".strip().rstrip(":")
    said = " ".join(said.split())[:300]
    line = _line(error, function)
    return f"{said} ({line})" if line else said


def _not_compiled(error: Any) -> str:
    """Triton's compiler quotes the whole kernel up to the line that it cannot compile."""
    quoted = str(error).split("\n")
    line = quoted[-3].strip() if len(quoted) > 3 else ""
    if line == "raise NotImplementedError()":
        return NOT_WRITTEN
    return f"{type(error).__name__}: {quoted[-1]} (line: {line})"


def _line(error: BaseException, function: Callable[..., Any]) -> str:
    """The deepest line that the student wrote: of her function's file, or of no library."""
    frames = traceback.extract_tb(error.__traceback__, limit=500)
    own = getattr(getattr(function, "__code__", None), "co_filename", None)
    hers = [f for f in frames if f.filename == own] or [f for f in frames if _hers(f.filename)]
    if not hers:
        return ""
    text = linecache.getline(hers[-1].filename, hers[-1].lineno or 0).strip()
    return f"line {hers[-1].lineno}: {text}" if text else f"line {hers[-1].lineno}"


def _hers(filename: str) -> bool:
    return not any(filename.startswith(folder) for folder in (*_OURS, *_OTHERS))


def _timed(seconds: float, run: Callable[[], Any]) -> Any:
    """``run()``; when the time is up, TooSlow is raised in it, again and again until it ends."""
    main = threading.current_thread() is threading.main_thread()
    by = _by_signal if main and hasattr(signal, "setitimer") else _by_thread
    return by(seconds, run)


def _by_signal(seconds: float, run: Callable[[], Any]) -> Any:
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


def _by_thread(seconds: float, run: Callable[[], Any]) -> Any:
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


class _Printed(io.TextIOBase):
    """What a call prints, its beginning alone."""

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if len(self.text) < MAX_PRINTED:
            self.text = (self.text + text)[:MAX_PRINTED]
        return len(text)
